"""`python -m routing.tools.embedding.worker_process --model M`: computes vectors of the texts that it reads from stdin.

Messages are lines of JSON. The first one on stdout is `{"ready": true}` or `{"failed": "…"}`. After that, each message
`{"texts": […]}` on stdin is answered with `{"rows", "width", "data"}`, where `data` is little-endian float32 in base64,
or with `{"failed": "…"}`. The output of libraries goes to stderr. The process exits when stdin closes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import BinaryIO, TypeVar

from routing.types.vectors import Floats

T = TypeVar("T")
LOADER = "routing.tools.embedding.sentence:load"
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Two threads on two busy cores were 48 times slower than one (measured)."""
REASON_CHARACTERS = 160
"""Maximum length of the reason for a failure."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer until stdin closes. The exit code is 1 if the model can't be loaded."""
    options = _options(arguments)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.environ.update(_ONE_THREAD)
    encode = _attempt(lambda: _loader(options.loader)(options.model))
    if isinstance(encode, dict):
        _say(out, encode)
        return 1
    _say(out, {"ready": True})
    for line in sys.stdin.buffer:
        if line.endswith(b"\n"):  # otherwise the parent died while writing
            _say(out, _attempt(partial(_answer, encode, json.loads(line)["texts"])))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m routing.tools.embedding.worker_process")
    parser.add_argument("--model", required=True, help="a model's name, or its folder")
    parser.add_argument("--loader", default=LOADER, help=f"module:function that loads the model ({LOADER})")
    return parser.parse_args(arguments)


def _loader(place: str) -> Callable[[str], Callable[[Sequence[str]], Floats]]:
    module, _, name = place.partition(":")
    found: Callable[[str], Callable[[Sequence[str]], Floats]] = getattr(importlib.import_module(module), name)
    return found


def _attempt(work: Callable[[], T]) -> T | dict[str, object]:
    """The result, or a message with the reason for a failure. Other texts may still work."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - child entry point: the parent logs the reason
        return {"failed": _reason(error)}


def _answer(encode: Callable[[Sequence[str]], Floats], texts: Sequence[str]) -> dict[str, object]:
    from routing.tools.embedding.rows import sent

    count, width, data = sent(encode(texts))
    return {"rows": count, "width": width, "data": b64encode(data).decode()}


def _say(out: BinaryIO, message: Mapping[str, object]) -> None:
    """Exits if the parent is gone."""
    try:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()
    except OSError:
        os._exit(0)


def _reason(error: Exception) -> str:
    """The first line of the message without its full stop, or the type of the error."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return line[:REASON_CHARACTERS].rstrip(" .:") or type(error).__name__


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Not sys.exit: the libraries' threads and destructors take seconds.
    os._exit(code)

"""`python -m routing.tools.embedding.worker_process --model M --parent PID`: vectors of texts, asked for over stdin.

The first message on stdout says `{"ready": true}` or `{"failed": "…"}`, each further one answers a message
`{"id", "texts"}`: `{"id", "rows", "width"}` with the rows as float32, or `{"id", "failed"}`. Everything that the
libraries print goes to stderr. The process ends when stdin closes and, on Linux, with its parent.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from routing.tools.embedding.framing import Frame, read

if TYPE_CHECKING:
    from routing.types.vectors import Floats

LOADER = "routing.tools.embedding.sentence:load"
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Two threads on two busy cores were 48 times slower than one (dependencies of the specification)."""
_PR_SET_PDEATHSIG = 1
_LONGEST_REASON = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer until stdin closes. Exit codes: 0, or 1 when there is no model."""
    options = _options(arguments)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _end_with(options.parent)
    os.environ.update(_ONE_THREAD)
    try:
        encode = _loader(options.loader)(options.model)
    except Exception as error:  # the libraries raise whatever they like
        _say(out, Frame({"failed": _reason(error)}))
        return 1
    _say(out, Frame({"ready": True}))
    while (asked := read(sys.stdin.buffer)) is not None:
        _say(out, _answer(encode, asked))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m routing.tools.embedding.worker_process")
    parser.add_argument("--model", required=True, help="a model's name, or its folder")
    parser.add_argument("--parent", type=int, required=True, help="the process to end with")
    parser.add_argument("--loader", default=LOADER, help=f"module:function that loads the model ({LOADER})")
    return parser.parse_args(arguments)


def _end_with(parent: int) -> None:
    """A process that computes does not see its stdin close; Linux can end it with its parent all the same."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _loader(place: str) -> Callable[[str], Callable[[Sequence[str]], Floats]]:
    module, _, name = place.partition(":")
    found: Callable[[str], Callable[[Sequence[str]], Floats]] = getattr(importlib.import_module(module), name)
    return found


def _answer(encode: Callable[[Sequence[str]], Floats], asked: Frame) -> Frame:
    from routing.tools.embedding.rows import sent

    try:
        count, width, data = sent(encode(asked.header["texts"]))
    except Exception as error:  # as above; the next texts may do
        return Frame({"id": asked.header.get("id"), "failed": _reason(error)})
    return Frame({"id": asked.header["id"], "rows": count, "width": width}, data)


def _say(out: Any, frame: Frame) -> None:
    """A parent that is gone needs no answer."""
    try:
        out.write(frame.packed())
        out.flush()
    except OSError:
        os._exit(0)


def _reason(error: Exception) -> str:
    """The first line, without a full stop; the kind of error where it says nothing."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return line[:_LONGEST_REASON].rstrip(" .:") or type(error).__name__


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Not sys.exit: the libraries' threads and destructors take seconds, and nothing is left to save.
    os._exit(code)

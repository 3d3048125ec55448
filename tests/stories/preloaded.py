"""Imported once by the process that bots of stories are forked from: a start takes 3 s of CPU less."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from routing.llm.adapter import _OFFLINE

Stream = Path | Connection
Process = ForkServerProcess
_LIBRARIES = (
    *("litellm", "openai.resources.chat", "telegram.ext", "discord", "alembic.command", "mcp.server", "numpy"),
    *("bot.__main__", "bot.app", "bot.running", "bot.ops.doctor", "bot.ops.mcp", "bot.rendering.markdown"),
    *(f"bot.adapters.{each}.platform" for each in ("telegram", "discord", "console")),
    *("routing.tools.selection.catalogue", "routing.tools.embedding.static"),
)


def load() -> None:
    """What every bot imports sooner or later."""
    gc.disable()
    os.environ.update(_OFFLINE)
    for name in _LIBRARIES:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    mask: int,
    streams: tuple[Stream, Stream, Stream],
    constants: Mapping[str, object] = {},
) -> None:
    """The bot's command line in this process, which was forked for it. `streams`: input, output, errors; two may be the
    same file. `constants`: other values for constants of modules, such as "bot.app.GRACE_SECONDS"."""
    from bot.__main__ import main

    for name, value in constants.items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    os.environ.clear()
    os.environ.update(environment)
    os.umask(mask)
    for number, stream in enumerate(streams):
        if isinstance(stream, Path):
            os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
        else:
            os.dup2(stream.fileno(), number)
            stream.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", buffering=1) for number in (1, 2))  # noqa: SIM115
    sys.argv = ["tierbot", *arguments]
    sys.exit(main(arguments))


forking = multiprocessing.get_context("forkserver")
"""Starts processes that have all this."""
forking.set_forkserver_preload([__name__])


if __name__ != "__main__" and "multiprocessing.forkserver" in sys.modules and "pytest" not in sys.modules:
    load()

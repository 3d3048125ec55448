"""Runs the bot in processes forked from one with all libraries imported, which saves 3 s of CPU per start."""

from __future__ import annotations

import faulthandler
import importlib
import logging
import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from tests.litellm_setup import litellm_without_clients

Stream = Path | Connection
Process = ForkServerProcess
_LIBRARIES = (
    *("openai.resources.chat", "telegram.ext", "discord", "alembic.command", "mcp.server", "numpy"),
    *(
        "bot.__main__",
        "bot.app",
        "bot.running",
        "bot.terminal",
        "bot.ops.doctor",
        "bot.ops.mcp",
        "bot.rendering.markdown",
    ),
    *(f"bot.adapters.{each}.platform" for each in ("telegram", "discord", "console")),
    *("routing.tools.selection.catalogue", "routing.tools.embedding.static"),
)


def start() -> None:
    """Fork the server from this process after importing everything that a bot imports. Call it while there is
    no event loop and no test runs."""
    litellm_without_clients()
    for name in _LIBRARIES:
        importlib.import_module(name)
    resource_tracker.ensure_running()
    forkserver.set_forkserver_preload([])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multiprocessing.util.spawnv_passfds", _fork)
        forkserver.ensure_running()


def _fork(_path: object, arguments: Sequence[str], kept: Sequence[int]) -> int:
    """Run the server in a fork of this process instead of a new interpreter. Returns its process id."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # the worker of pytest-xdist has a second thread, that reads
        if process_id := os.fork():
            return process_id
    try:
        faulthandler.disable()
        sys.unraisablehook = sys.__unraisablehook__
        logging.getLogger().handlers.clear()
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        for number in map(int, os.listdir("/dev/fd")):
            if number > 2 and number not in kept:
                with suppress(OSError):
                    os.close(number)
        exec(arguments[-1])
    finally:
        os._exit(0)


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    mask: int,
    streams: tuple[Stream, Stream, Stream],
    constants: Mapping[str, object] = {},
) -> None:
    """Runs the bot's command line in this forked process. `streams`: input, output, errors; two may be the same file.
    `constants`: overrides of module constants, such as "bot.app.GRACE_SECONDS"."""
    from bot.__main__ import main

    for name, value in constants.items():
        module, _, constant = name.rpartition(".")
        setattr(importlib.import_module(module), constant, value)
    os.environ.clear()
    os.environ.update(environment)
    os.umask(mask)
    redirect(streams)
    sys.argv = ["tierbot", *arguments]
    sys.exit(main(arguments))


def redirect(streams: tuple[Stream, Stream, Stream]) -> None:
    """Input, output and errors of this process."""
    for number, stream in enumerate(streams):
        if isinstance(stream, Path):
            os.dup2(os.open(stream, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
        else:
            os.dup2(stream.fileno(), number)
            stream.close()
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", buffering=1) for number in (1, 2))


forking = multiprocessing.get_context("forkserver")
"""Starts processes that have all libraries; see `start`."""

"""Defective workspaces: a start reports the defect and leaves every file unchanged."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from io import StringIO
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.observability.logs import _QUIET
from tests.postgres import ON_POSTGRES
from tests.stories.harness import BotHarness, running

SCRATCH = {".lock", "-shm", "-wal"}
"""Suffixes of files without lasting content: the process's lock, SQLite's shared memory, an empty journal."""


def checksums(folder: Path) -> dict[str, str]:
    """The hash of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if not path.name.endswith(tuple(SCRATCH)) or path.stat().st_size > 40_000)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


async def refused(on: BotHarness, **env: str) -> str:
    """Runs `refusal`, and checks that no file changed."""
    before = checksums(on.workspace)
    message = await refusal(on, **env)
    after = checksums(on.workspace)
    assert {name: after.get(name) for name in before} == before
    return message


async def refusal(on: BotHarness, **env: str) -> str:
    """Runs `tierbot run` in this process. It must fail with exit code 2 and one sentence, which is returned."""
    code, log = await asyncio.to_thread(_run, on.environment() | env)
    assert code == 2, log
    (line,) = log.splitlines()
    assert line.startswith("tierbot: ")
    assert line.endswith("."), log
    return line.removeprefix("tierbot: ")


def _run(environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit code and everything that is printed or logged."""
    printed, mask = StringIO(), os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch, _log_restored():
        for name in os.environ:
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", printed)
        patch.setattr(sys, "stderr", printed)
        patch.setattr("bot.cli.new_event_loop", asyncio.new_event_loop)
        patch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", lambda *_: None)  # only in the main thread
        try:
            return main(["run"]), printed.getvalue()
        finally:
            os.umask(mask)


@contextmanager
def _log_restored() -> Iterator[None]:
    """Restores the process's logging, which the command line configures."""
    loggers = [logging.getLogger(name) for name in ("", *_QUIET)]
    handlers, levels = loggers[0].handlers[:], [each.level for each in loggers]
    yield
    loggers[0].handlers[:] = handlers
    for each, level in zip(loggers, levels, strict=True):
        each.setLevel(level)


async def populate(on: BotHarness) -> None:
    """Creates a workspace with a conversation."""
    async with running(on):
        on.tg.say("remember me")
        await on.tg.reply()
    checkpoint(on)


def checkpoint(on: BotHarness) -> None:
    """Moves SQLite's journal into its file."""
    if not ON_POSTGRES:
        assert on.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == 0


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A small file system in memory. Needs root; otherwise the story is skipped, unless TIERBOT_SETS=all."""
    folder.mkdir(parents=True, exist_ok=True)
    made = mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Makes the folder read-only, even for root."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def mount(*arguments: str) -> Path:
    """Mounts, or skips. The mount point is the last argument."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = f"mount {' '.join(arguments)}: {done.stderr.strip()}"
        if os.environ.get("TIERBOT_SETS") == "all":
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(arguments[-1])


def fill(folder: Path) -> Path:
    """Fills the disk."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast


@asynccontextmanager
async def held(database: Path) -> AsyncIterator[None]:
    """Another program holds an exclusive lock on the database."""
    script = (
        "import sqlite3,sys;c=sqlite3.connect(sys.argv[1],isolation_level=None);"
        "c.execute('begin exclusive');print('held',flush=True);sys.stdin.read()"
    )
    holder = await asyncio.create_subprocess_exec(
        "python3", "-c", script, str(database), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert await holder.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        holder.stdin.close()
        await holder.wait()

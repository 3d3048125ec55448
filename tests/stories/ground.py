"""Workspaces on bad ground: what a start says there, and that it leaves every file as it was."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.stories.harness import BotProcess, Stage, running

SCRATCH = {".lock", "-shm", "-wal"}
"""Ends of files that hold nothing: the process's lock, SQLite's shared memory, an empty journal."""


def checksums(folder: Path) -> dict[str, str]:
    """Every file with its content's hash."""
    files = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if not path.name.endswith(tuple(SCRATCH)) or path.stat().st_size > 40_000)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


async def refused(on: Stage, *arguments: str, env: Mapping[str, str] | None = None, config: bool = False) -> str:
    """Start in vain: exit code 2, one sentence, which is given back, and no file changed."""
    before = checksums(on.workspace)
    async with BotProcess(on, *arguments, env=env, config=config) as bot:
        assert await bot.ended(60.0) == 2, bot.log
    lines = bot.log.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("tierbot: ")
    assert lines[0].endswith("."), bot.log
    after = checksums(on.workspace)
    assert {name: after.get(name) for name in before} == before
    return lines[0].removeprefix("tierbot: ")


async def lived_in(on: Stage) -> None:
    """A workspace with a conversation in it."""
    async with running(on):
        on.tg.say("remember me")
        await on.tg.reply()
    with_journal = on.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    assert with_journal[0][0] == 0


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A disk of its own in memory. Needs root; where that is missing the story is named and skipped, unless
    TIERBOT_SETS=all demands every one."""
    folder.mkdir(parents=True, exist_ok=True)
    made = mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield made
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder can only be read, by root as well."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def mount(*arguments: str) -> Path:
    """Mount, or skip; the place is the last argument."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = f"mount {' '.join(arguments)}: {done.stderr.strip()}"
        if os.environ.get("TIERBOT_SETS") == "all":
            pytest.fail(reason)
        pytest.skip(reason)
    return Path(arguments[-1])


def fill(folder: Path) -> Path:
    """Take all the space there is left."""
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
    """Another program holds the database, exclusively."""
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

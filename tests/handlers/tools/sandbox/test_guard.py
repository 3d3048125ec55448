"""When the bot is killed, nothing that it started in the sandbox survives."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from handlers.tools.sandbox import Sandbox, SandboxLimits
from tests.handlers.tools.sandbox.test_sandbox import made
from tests.polling import until

BOT = """
import asyncio, sys
from pathlib import Path
from handlers.tools.sandbox import Sandbox, SandboxLimits

sandbox = Sandbox(Path(sys.argv[1], "files"), SandboxLimits(), sys.argv[2])
print(sandbox.guard.mark, flush=True)
asyncio.run(sandbox.run(7, ["sleep", "1000"]))
"""
KILLED_AFTER_MS = range(0, 40, 2)


def marked(mark: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


async def bot(tmp_path: Path, program: str = "bwrap") -> tuple[asyncio.subprocess.Process, str]:
    """A process that runs a command for ever, and the mark of its children; not started yet."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BOT, str(tmp_path), program),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert process.stdout is not None
    return process, (await process.stdout.readline()).decode().strip()


async def test_a_bubblewrap_that_does_not_die_with_the_bot_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\ntrap '' HUP TERM\nwhile :; do sleep 0.1; done\n")
    program.chmod(0o755)
    process, mark = await bot(tmp_path, str(program))
    await until(lambda: bool(marked(mark)))
    process.kill()
    await process.communicate()
    await until(lambda: not marked(mark))


@pytest.mark.system
@pytest.mark.timeout(600)  # twenty starts of Python, one after the other
async def test_a_kill_at_any_instant_of_the_start_leaves_nothing(tmp_path: Path) -> None:
    """Without the guard about a quarter of these leave bubblewrap's first process, which waits for ever."""
    await made(tmp_path)
    marks = []
    for milliseconds in KILLED_AFTER_MS:
        process, mark = await bot(tmp_path)
        await asyncio.sleep(milliseconds / 1000)
        process.kill()
        await process.communicate()
        marks.append(mark)
    await until(lambda: not any(map(guards, marks)))  # they end once they find nothing more to kill
    assert not any(map(marked, marks))


def guards(mark: str) -> list[int]:
    return marked(f"[t]{mark[1:]}")


async def guard(mark: str) -> int:
    """Waits because a process has no command line during exec."""
    await until(lambda: len(guards(mark)) == 1)
    return guards(mark)[0]


async def test_a_killed_guard_is_replaced_and_the_last_ends_with_its_sandbox(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, SandboxLimits())
    mark = sandbox.guard.mark
    await asyncio.to_thread(sandbox.guard.start)
    await asyncio.to_thread(sandbox.guard.start)
    first = await guard(mark)
    os.kill(first, signal.SIGKILL)
    await until(lambda: not guards(mark))
    await asyncio.to_thread(sandbox.guard.start)
    assert await guard(mark) != first
    del sandbox

    def dismissed() -> bool:
        gc.collect()  # a thread of the executor may have held the sandbox a moment longer
        return not guards(mark)

    await until(dismissed)

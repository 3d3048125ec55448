"""No server outlives the bot, however the bot ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.handlers.tools.mcp.harness import QUICK, McpHarness, mcp_harness

BOT = """
import asyncio, os, pathlib, sys
from tests.handlers.tools.mcp.harness import mcp_harness

async def main():
    async with mcp_harness(pathlib.Path(sys.argv[1])) as on:
        on.server("s", {"tools": ["pid"], "start": sys.argv[2]})
        await on.started("s")
        print(await on.call("s_pid"), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def family(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [pid, *map(int, told.split())]


def gone(*pids: int) -> bool:
    """Whether they all end; waits for each up to the test's limit."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = poll.poll(60_000)
        os.close(handle)
        if not ended:
            return False
    return True


@pytest.mark.parametrize("start", ["", "stubborn"])
async def test_servers_end_with_the_bot(tmp_path: Path, start: str) -> None:
    async with mcp_harness(tmp_path, QUICK) as on:
        pids = await started(on, start)
    assert gone(*pids)


async def started(on: McpHarness, start: str) -> list[int]:
    on.server("s", {"tools": ["pid"], "start": start})
    await on.started("s")
    return family(int(await on.call("s_pid")))


@pytest.mark.parametrize("start", ["", "stubborn"])
def test_servers_end_when_the_bot_is_killed(tmp_path: Path, start: str) -> None:
    bot = subprocess.Popen(
        [sys.executable, "-c", BOT, str(tmp_path), start], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    assert bot.stdout is not None
    pids = family(int(bot.stdout.readline()))
    bot.kill()
    bot.wait()
    bot.stdout.close()
    try:
        assert gone(*pids)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(pids[0], signal.SIGKILL)

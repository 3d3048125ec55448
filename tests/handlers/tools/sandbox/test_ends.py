"""However a command ends, it leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.handlers.tools.sandbox.test_sandbox import made, pipes, read_pipe, running, shell, unique


@pytest.mark.system
async def test_background_processes_end_with_the_command(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    *up, go = pipes(tmp_path, "one", "two", "three", "go")
    mark = unique()
    inner = f"sh -c 'exec 2>/dev/null; echo up > {{}}; sleep 1000' {mark}"
    line = f"nohup {inner.format('one')} & setsid {inner.format('two')} & ({inner.format('three')} &) ; cat go"
    command = asyncio.create_task(shell(sandbox, line))
    assert await asyncio.gather(*map(read_pipe, up)) == ["up\n"] * 3
    assert len(running(mark)) >= 3
    await asyncio.to_thread(go.write_text, "gone\n")
    assert (await command).output == "gone\n"
    assert running(mark) == []


@pytest.mark.system
async def test_a_cancelled_command_leaves_no_process_behind(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    up = pipes(tmp_path, "one", "two")
    mark = unique()
    line = f"setsid sh -c 'echo up > one; sleep 999' {mark} & sh -c 'echo up > two; sleep 999' {mark}"
    command = asyncio.create_task(shell(sandbox, line))
    await asyncio.gather(*map(read_pipe, up))
    assert len(running(mark)) >= 2
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running(mark) == []
    assert (await shell(sandbox, "echo on")).output == "on\n"


@pytest.mark.system
async def test_a_second_cancellation_still_cleans_up(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    (ready,) = pipes(tmp_path, "ready")
    mark = unique()
    command = asyncio.create_task(shell(sandbox, f"echo up > ready; sleep {mark}"))
    await read_pipe(ready)
    command.cancel()
    await asyncio.sleep(0)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running(mark) == []


@pytest.mark.system
async def test_a_command_cancelled_before_its_start_leaves_nothing(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    mark = unique()
    for yields in range(12):
        command = asyncio.create_task(shell(sandbox, f"sleep {mark}"))
        for _ in range(yields):
            await asyncio.sleep(0)
        command.cancel()
        with pytest.raises(asyncio.CancelledError):
            await command
    assert running(mark) == []

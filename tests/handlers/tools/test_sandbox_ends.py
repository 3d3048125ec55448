"""However a command ends, it leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.handlers.tools.test_sandbox import heard, made, pipes, running, shell


@pytest.mark.system
async def test_background_processes_end_with_the_command(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    *up, go = pipes(tmp_path, "one", "two", "three", "go")
    inner = "sh -c 'echo up > {}; sleep 1000' 98761"
    line = f"nohup {inner.format('one')} & setsid {inner.format('two')} & ({inner.format('three')} &) ; cat go"
    command = asyncio.create_task(shell(sandbox, line))
    assert await asyncio.gather(*map(heard, up)) == ["up\n"] * 3
    assert len(running("98761")) >= 3
    await asyncio.to_thread(go.write_text, "gone\n")
    assert (await command).output == "gone\n"
    assert running("98761") == []


@pytest.mark.system
async def test_a_cancelled_command_leaves_no_process_behind(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    up = pipes(tmp_path, "one", "two")
    command = asyncio.create_task(
        shell(sandbox, "setsid sh -c 'echo up > one; sleep 999' 98762 & sh -c 'echo up > two; sleep 999' 98762")
    )
    await asyncio.gather(*map(heard, up))
    assert len(running("98762")) >= 2
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running("98762") == []
    assert (await shell(sandbox, "echo on")).output == "on\n"


@pytest.mark.system
async def test_a_second_cancellation_still_cleans_up(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    (ready,) = pipes(tmp_path, "ready")
    command = asyncio.create_task(shell(sandbox, "echo up > ready; sleep 98763"))
    await heard(ready)
    command.cancel()
    await asyncio.sleep(0)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert running("98763") == []


@pytest.mark.system
async def test_a_command_cancelled_before_its_start_leaves_nothing(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    for yields in range(12):
        command = asyncio.create_task(shell(sandbox, "sleep 98764"))
        for _ in range(yields):
            await asyncio.sleep(0)
        command.cancel()
        with pytest.raises(asyncio.CancelledError):
            await command
    assert running("98764") == []

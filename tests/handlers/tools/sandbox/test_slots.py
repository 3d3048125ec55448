"""Limits the commands that run at once, in total and per person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from routing.errors import ToolFailed
from tests.handlers.tools.sandbox.test_sandbox import BEN, home, made, pipes, read_pipe, shell


@pytest.mark.system
async def test_a_long_wait_for_a_slot_is_explained(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    running = [asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two")]
    await asyncio.gather(read_pipe(one), read_pipe(two))
    sandbox.wait_seconds = 0
    with pytest.raises(ToolFailed, match=r"busy with other commands.* was not started: try again in a minute"):
        await shell(sandbox, "touch third")
    assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert go.exists()
    assert not (home(tmp_path) / "third").exists()


@pytest.mark.system
async def test_a_persons_third_command_waits_without_blocking_others(tmp_path: Path) -> None:
    sandbox = await made(tmp_path)
    one, two, go = pipes(tmp_path, "one", "two", "go")
    line = "echo up > {}; read x < go"
    first, second = (asyncio.create_task(shell(sandbox, line.format(name))) for name in ("one", "two"))
    await asyncio.gather(read_pipe(one), read_pipe(two))
    third = asyncio.create_task(shell(sandbox, "touch third"))
    for _ in range(3):
        assert (await shell(sandbox, "echo mine", BEN)).output == "mine\n"
    assert not (home(tmp_path) / "third").exists()
    assert not third.done()
    first.cancel()
    assert (await third).exit_code == 0
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert (home(tmp_path) / "third").exists()
    assert go.exists()

"""What the owner edits is taken up while the bot runs, whatever happened before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.owned import OwnersFiles, keep_fresh
from bot.settings import load
from bot.workspace import Workspace
from routing.models.choice import Models


class Stumbling:
    """Tools whose refresh fails twice; between the two the owner writes new instructions."""

    def __init__(self, instructions: Path) -> None:
        self.well = asyncio.Event()
        self._instructions = instructions
        self._rounds = 0

    async def refresh(self) -> None:
        self._rounds += 1
        if self._rounds == 1:
            self._instructions.write_text("Be brief, and say so.", encoding="utf-8")
        if self._rounds < 3:
            raise OverflowError("int too large to convert to float")
        self.well.set()


async def test_a_round_that_fails_is_told_once_and_is_not_the_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    workspace.prepare()
    owned, models = OwnersFiles(workspace), Models(workspace.config(), workspace.catalog())
    tooling = Stumbling(tmp_path / "SYSTEM.md")
    keeping = asyncio.create_task(keep_fresh(workspace, models, owned, tooling, seconds=0))  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(30):
            await tooling.well.wait()
    finally:
        keeping.cancel()
    assert owned.instructions() == "Be brief, and say so."
    assert [record.message for record in caplog.records].count(
        "What was edited can't be taken up. The last good state stays in force."
    ) == 1  # fmt: skip

"""The database transactions of a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from storage.database.sqlite import SqliteDatabase
from tests.stories.harness import BotHarness, ask, running, settled

T = TypeVar("T")


async def test_a_turn_waits_for_two_commits_and_reads_nothing(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, bool]] = []
    real = SqliteDatabase._run

    async def noting(self: SqliteDatabase, step: Callable[[Connection], T], writes: bool, urgent: bool = True) -> T:
        steps.append(("write" if writes else "read", urgent))
        return await real(self, step, writes, urgent)

    monkeypatch.setattr(SqliteDatabase, "_run", noting)
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        for user in ("ann", "bob"):
            await ask(on, "hello", user=user)
            await settled(on)
        steps.clear()
        await ask(on, "and now?", user="bob")
        await settled(on)
        assert steps == [("write", True), ("write", True), ("write", False)], "accepted, finished; sent later"
        await ask(on, "/memory add My dog is called Rex", user="bob")
        await settled(on)
        steps.clear()
        await ask(on, "what is my dog called?", user="bob")
        await settled(on)
        assert "Rex" in on.ms.last.reading.system_text
        assert steps == [("write", True), ("write", True), ("write", False)], "nor for remembered facts"
        steps.clear()
        await ask(on, "hello", user="eve")
        await settled(on)
        assert steps.count(("write", True)) == 4, "and the conversation, and the account"
        assert steps.count(("read", True)) == 2, "whether the account is known, and the chat's settings"

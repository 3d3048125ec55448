"""The database transactions of a turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection

from storage.database.async_engine import AsyncDatabase
from storage.database.sqlite import SqliteDatabase
from tests.postgres import ON_POSTGRES
from tests.stories.accounts import connect, radicale
from tests.stories.harness import BotHarness, ask, running, settled

T = TypeVar("T")
TURN = [("write", True), ("write", True), ("write", False)]
"""Accepted, finished; sent later."""
CLAIM = 2 if ON_POSTGRES else 0
"""Writes for the first message of a chat: its chat is claimed, then the message taken."""
Steps = list[tuple[str, bool]]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The database's transactions: their kind, and whether somebody waits for them."""
    steps: Steps = []
    kind = AsyncDatabase if ON_POSTGRES else SqliteDatabase
    write, read = kind.write, kind.read

    async def noting_write(self: Any, step: Callable[[Connection], T], urgent: bool = True) -> T:
        steps.append(("write", urgent))
        return await write(self, step, urgent)

    async def noting_read(self: Any, step: Callable[[Connection], T]) -> T:
        steps.append(("read", True))
        return await read(self, step)

    monkeypatch.setattr("bot.cluster.LOOK_SECONDS", 600.0)
    monkeypatch.setattr(kind, "write", noting_write)
    monkeypatch.setattr(kind, "read", noting_read)
    return steps


async def test_a_turn_waits_for_two_commits_and_reads_nothing(on: BotHarness, steps: Steps) -> None:
    on.env["BOT_ACCESS"] = "open"
    async with running(on):
        for user in ("ann", "bob"):
            await ask(on, "hello", user=user)
            await settled(on)
        steps.clear()
        await ask(on, "and now?", user="bob")
        await settled(on)
        assert steps == TURN
        await ask(on, "/memory add My dog is called Rex", user="bob")
        await settled(on)
        steps.clear()
        await ask(on, "what is my dog called?", user="bob")
        await settled(on)
        assert "Rex" in on.ms.last.reading.system_text
        assert steps == TURN, "nor for remembered facts"
        steps.clear()
        await ask(on, "hello", user="eve")
        await settled(on)
        assert steps.count(("write", True)) == 4 + CLAIM, "and the conversation, and the account"
        assert steps.count(("read", True)) == 2, "whether the account is known, and the chat's settings"


async def test_a_turn_reads_nothing_for_a_connected_account(on: BotHarness, steps: Steps) -> None:
    with radicale(on) as server:
        async with running(on):
            assert "✅ Connected" in (await connect(on, server)).text
            await ask(on, "What is on my calendar tomorrow?")
            seen = []
            for _ in range(3):  # what the bot does beside its turns may read, too
                await settled(on)
                steps.clear()
                await ask(on, "And which meetings are in my calendar next week?")
                await settled(on)
                assert "list_events" in on.ms.last.reading.tool_names
                seen.append([*steps])
            assert TURN in seen


async def test_only_the_first_hint_about_accounts_is_noted(on: BotHarness, steps: Steps) -> None:
    async with running(on):
        await ask(on, "hello")
        await settled(on)
        steps.clear()
        assert "/connect calendar" in (await ask(on, "What is on my calendar tomorrow?")).text
        await settled(on)
        assert steps.count(("write", True)) == 3, "accepted, told, finished"
        steps.clear()
        assert "/connect" not in (await ask(on, "And which meetings are in my calendar next week?")).text
        await settled(on)
        assert steps == TURN

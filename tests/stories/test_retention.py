"""RETENTION_DAYS deletes old messages while the bot runs; open messages and this month's usage stay."""

from __future__ import annotations

import pytest

from tests.stories.harness import BotHarness, ask, running

DAYS = 86_400


async def test_old_messages_are_deleted_while_the_bot_runs(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "an old question")
        await ask(on, "/new")
        await ask(on, "a recent question")
    on.change("update messages set at = at - ? where conversation_id = 1", 31 * DAYS)
    on.change("update turns set at = at - ? where id = 1", 31 * DAYS)
    async with running(on):
        await ask(on, "/history")
        assert on.rows("select count(*) from messages") == [(4,)], "without the setting, everything is kept"
    on.env["RETENTION_DAYS"] = "30"
    async with running(on):
        await on.tg.wait_for(lambda _: on.rows("select count(*) from messages") == [(2,)])
        listed = (await ask(on, "/history")).text
        assert "a recent question" in listed
        assert "an old question" not in listed
        assert "2 calls" in (await ask(on, "/usage")).text
        assert (await ask(on, "go on")).text == "You said: go on"
    assert ("user", "a recent question") in on.ms.last.reading.turns
    assert on.rows("select count(*) from usage") == [(3,)]


async def test_a_message_that_waits_is_not_deleted(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.app.GRACE_SECONDS", 0.1)
    on.env["RETENTION_DAYS"] = "1"
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
    gate.open()
    on.change("update inbox set received_at = received_at - ?", 40 * DAYS)
    async with running(on):
        await on.tg.reply(matching="You said: think")

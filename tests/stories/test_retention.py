"""RETENTION_DAYS deletes old messages while the bot runs; open messages and this month's usage stay."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from routing.policy.models import Models
from storage.inbox import SqlInbox
from storage.retention import SqlRetention
from tests.polling import until
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
        await until(lambda: on.rows("select count(*) from messages") == [(2,)])
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


async def test_a_bug_in_one_round_of_the_sweep_does_not_end_it(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot.app")
    monkeypatch.setattr("bot.app.SWEEP_SECONDS", 0.01)
    rounds = [0]
    prune = SqlRetention.prune

    async def fails_always(*args: Any) -> None:
        raise ValueError("a bug of the inbox")

    async def fails_once(*args: Any) -> int:
        rounds[0] += 1
        if rounds[0] == 1:
            raise ValueError("a bug of the retention")
        return await prune(*args)

    async with running(on):
        await ask(on, "an old question")
    on.change("update messages set at = at - ?", 31 * DAYS)
    on.env["RETENTION_DAYS"] = "30"
    monkeypatch.setattr(SqlInbox, "sweep", fails_always)
    monkeypatch.setattr(SqlRetention, "prune", fails_once)
    async with running(on):
        await until(lambda: on.rows("select count(*) from messages") == [(0,)] and rounds[0] > 4)
    logged = [record for record in caplog.records if record.name == "bot.app"]
    failed = {record.getMessage() for record in logged if record.levelno == logging.ERROR}
    assert failed == {
        "Old records could not be deleted (inbox)",
        "Old records could not be deleted (retention)",
    }
    reports = [record.getMessage() for record in logged if "rows older" in record.getMessage()]
    assert len(reports) == 1, "a round that deletes nothing logs nothing"


async def test_a_bug_in_a_background_chore_is_logged(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: object) -> None:
        raise ValueError("a bug of a chore")

    monkeypatch.setattr(Models, "learn_sizes", fails)
    monkeypatch.setattr("bot.keyless.keep_detecting", fails)
    async with running(on):
        assert (await ask(on, "hello")).text == "You said: hello"
    assert [record.getMessage() for record in caplog.records if "[Chores]" in record.getMessage()] == [
        "[Chores]: a background task failed"
    ] * 2

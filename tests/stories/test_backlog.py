"""Many messages at once, and failing storage: replies come first, and each chat gets a notice."""

from __future__ import annotations

import asyncio
import gc

import pytest

from bot.adapters.telegram.settings import Pace
from routing.types.messages import InboundMessage
from storage.inbox import SqlInbox
from storage.ledger import SqlLedger
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.stories.discord_bot import hurried, up
from tests.stories.harness import BotHarness, ask, running, settled
from tests.stories.test_faults_storage import Fault
from tests.stories.test_order import texts

__all__ = ["hurried"]


@pytest.fixture
def busy(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is too busy for a second turn."""
    monkeypatch.setattr("bot.inbox.admission.ALWAYS", 1)
    monkeypatch.setattr("bot.inbox.admission.MAX_LAG_SECONDS", -1.0)
    monkeypatch.setattr("bot.inbox.admission.MAX_WAIT_SECONDS", 600.0)
    on.env |= {"BOT_ACCESS": "open"}


async def test_only_the_newest_waiting_message_is_marked(on: BotHarness) -> None:
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        waiting = [on.tg.say(f"and {number}") for number in range(20)]
        await on.tg.wait_for(lambda _: waiting[-1].emoji)
        assert len(on.tg.calls("setMessageReaction")) < 10
        gate.open()
        await on.tg.reply(count=21)
        await settled(on)


async def test_no_message_is_marked_while_replies_are_being_sent(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.inbox.inbox.BUSY_CHATS", 0)
    on.env |= {"BOT_ACCESS": "open"}
    held = on.ms.gate("done", when=lambda request: request.last_user_text == "think")
    async with running(on):
        bob = on.tg.say("hello", user="bob").chat.id
        slow = on.tg.fault("sendMessage", "slow", when=lambda sent: int(sent["chat_id"]) == bob)
        on.tg.say("think")
        await held.reached()
        await on.tg.wait_for(lambda _: slow.hits)
        on.tg.say("waits")
        on.tg.say("/whoami")
        await on.tg.reply(matching="telegram:")
        held.open()
        await on.tg.reply(count=2)
        slow.release()
        await settled(on)
    assert on.tg.calls("setMessageReaction") == []


async def test_a_command_overtakes_a_backlog_and_nothing_is_lost(on: BotHarness) -> None:
    """While the backlog waits, there are one copy of each message and a few tasks per chat; afterwards, only a few
    messages per chat, held by open connections."""
    on.env |= {"BOT_ACCESS": "open"}
    chats = [on.tg.private(f"person {number}") for number in range(20)]
    async with running(on):
        tasks, messages = len(asyncio.all_tasks()), in_memory()
        asked = [on.tg.say(f"question {number}", user=chat.user) for number in range(10) for chat in chats]
        command = on.tg.say("/whoami", user=chats[0].user)
        whoami = await on.tg.reply(command, matching="telegram:")
        assert sum(len(chat.from_bot()) for chat in chats) < len(asked) / 2
        assert len(asyncio.all_tasks()) < tasks + 5 * len(chats)
        assert in_memory() < messages + len(asked) + 2 * len(chats)
        await on.tg.wait_for(lambda _: sum(len(chat.from_bot()) for chat in chats) == len(asked) + 1)
        await settled(on)
        assert in_memory() < messages + len(asked) / 2
    for chat in chats:
        answers = [message.text for message in chat.from_bot() if message is not whoami]
        assert answers == [f"You said: {message.text}" for message in asked if message.chat is chat]


def in_memory() -> int:
    """The number of received messages in memory."""
    gc.collect()
    return sum(isinstance(each, InboundMessage) for each in gc.get_objects())


async def test_a_turn_waits_for_a_busy_process_and_a_command_does_not(on: BotHarness, busy: None) -> None:
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        waits = on.tg.say("hello", user="bob")
        for _ in range(3):
            command = on.tg.say("/whoami", user="bob")
            await on.tg.reply(command, after=command)
        assert len(on.ms.calls) == 1
        gate.open()
        await on.tg.reply(waits, matching="You said: hello")


async def test_everyone_who_waits_for_a_busy_process_is_told(
    on: BotHarness, busy: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind others who wait, each once, with the newest message."""
    monkeypatch.setattr("bot.inbox.inbox.BUSY_PAUSE_SECONDS", 0.05)
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        on.tg.say("hello", user="first in the queue")
        waiting = [on.tg.say("hello", user=f"person {number}") for number in range(3)]
        newest = [on.tg.say("and more", user=f"person {number}") for number in range(3)]
        await on.tg.wait_for(lambda _: all(message.emoji for message in newest))
        gate.open()
        for message in (*waiting, *newest):
            await on.tg.reply(message, matching=f"You said: {message.text}")
        await settled(on)


async def test_a_turn_that_waits_for_a_busy_process_can_be_stopped(on: BotHarness, busy: None) -> None:
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        on.tg.say("hello", user="bob")
        stop = on.tg.say("/stop", user="bob")
        assert "Stopped" in (await on.tg.reply(stop, after=stop)).text
        gate.open()
        await settled(on)
    assert len(on.ms.calls) == 1


async def test_a_turn_that_waits_for_a_busy_process_does_not_begin_while_it_ends(on: BotHarness, busy: None) -> None:
    gate = on.ms.gate("done")
    async with running(on) as app:
        on.tg.say("think")
        await gate.reached()
        waits = on.tg.say("hello", user="bob")
        await until(lambda: on.rows("select count(*) from inbox") == [(2,)])
        ending = asyncio.create_task(app.inbox.drain(30.0))
        await asyncio.sleep(0)
        gate.open()
        await ending
        assert len(on.ms.calls) == 1
    async with running(on):
        await on.tg.reply(waits, matching="You said: hello")


async def test_the_next_answer_on_discord_waits_for_the_last_edit_of_the_one_before(
    on: BotHarness, dc: DiscordServer, hurried: None
) -> None:
    first, second = "one " * 40, "two " * 40
    gate = on.ms.reply(first, chunks=8, gate_after=4)
    on.ms.reply(second, chunks=8, delay=0.1)
    late = dc.fault("PATCH /channels/*/messages/*", "server_error", when=lambda body: body["content"] == first.strip())
    async with running(on) as app:
        await up(dc, app)
        dc.say("count")
        await gate.reached()
        await dc.wait_for(lambda _: dc.dm().from_bot())
        dc.say("go on")
        gate.open()
        await dc.wait_for(lambda _: dc.dm().from_bot()[-1].text == second.strip())
        await settled(on)
    shown = dc.dm().from_bot()
    assert late.hits == 1
    assert [message.text for message in shown] == [first.strip(), second.strip()]
    assert shown[0].versions[-1].at < shown[1].versions[0].at


@pytest.mark.parametrize(("store", "step"), [(SqlInbox, "accept"), (SqlLedger, "finish")], ids=["inbox", "answer"])
async def test_people_are_told_once_that_nothing_can_be_saved(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch, store: type, step: str
) -> None:
    monkeypatch.setattr("handlers.storage_retry.PAUSES", (0.05,))
    quick = Pace(backoff=0.05, longest_backoff=0.1)
    monkeypatch.setattr("bot.adapters.telegram.descriptor.Pace", lambda: quick)
    for module in ("bot.inbox.inbox", "handlers.storage_retry"):
        monkeypatch.setattr(f"{module}.TELL_SECONDS", 0.0)
    fault = Fault(monkeypatch, store, step)
    async with running(on):
        await ask(on, "before")
        fault.times = 10**6
        question = on.tg.say("question")
        notice = await on.tg.reply(question, after=question)
        assert "can't save anything at the moment" in notice.text
        fault.times = 2
        assert (await on.tg.reply(question, after=notice)).text == "You said: question"
        await settled(on)
    assert len(texts(on)) == 3


async def test_a_known_person_is_told_of_storage_failure_before_the_first_reply(
    on: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example after a restart. Strangers, who are never answered, are not told."""
    monkeypatch.setattr("bot.inbox.inbox.TELL_SECONDS", 0.0)
    on.env["BOT_ACCESS"] = "allowlist"
    fault = Fault(monkeypatch, SqlInbox, "accept")
    fault.times = 10**6
    async with running(on):
        on.tg.say("anybody there?", user="mallory")
        question = on.tg.say("question")
        notice = await on.tg.reply(question, after=question)
        assert "can't save anything at the moment" in notice.text
        assert not on.tg.private("mallory").from_bot()
        fault.times = 0
        assert (await on.tg.reply(question, after=notice)).text == "You said: question"

"""Conversations run in parallel, each in order. A running turn can be stopped, and no message is answered twice."""

from typing import Any

import pytest

from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, BotProcess, running, settled

PEOPLE = [f"person{number}" for number in range(20)]


def texts(on: BotHarness, user: str | None = None) -> list[str]:
    """The bot's messages to a person."""
    return [message.text for message in on.tg.private(user).from_bot()]


async def test_twenty_conversations_at_once_and_a_slow_one_delays_no_other(on: BotHarness) -> None:
    on.env |= {"BOT_ACCESS": "open"}
    slow = on.ms.gate("at last", when=lambda request: request.last_user_text == "q-person7")
    async with running(on):
        messages = [on.tg.say(f"q-{person}", user=person) for person in PEOPLE]
        for person, message in zip(PEOPLE, messages, strict=True):
            if person != "person7":
                assert (await on.tg.reply(message)).text == f"You said: q-{person}"
        assert texts(on, "person7") == []
        slow.open()
        assert (await on.tg.reply(messages[7])).text == "at last"


async def test_status_answers_while_its_own_conversation_is_busy(on: BotHarness) -> None:
    gate = on.ms.gate("done")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        on.tg.say("/status full")
        status = await on.tg.reply()
        assert "Running turns: 1, waiting: 0" in status.text
        gate.open()
        assert (await on.tg.reply()).text == "done"


@pytest.mark.parametrize("word", ["/stop", "stop", "Stop!", " STOP ", "/stop@tierbot"])
async def test_stop_ends_the_running_turn_and_keeps_its_text(on: BotHarness, word: str) -> None:
    gate = on.ms.reply("one two three four", chunks=4, gate_after=2)
    async with running(on):
        on.tg.say("count")
        asked = await gate.reached()
        await on.tg.wait_for(lambda tg: tg.drafts)
        on.tg.say(word)
        stopped = await on.tg.reply()
        assert stopped.text == "one two t\n\n⏹ Stopped."
        assert await asked.finished() == "cut"
        on.ms.reply("fine")
        on.tg.say("and now?")
        assert (await on.tg.reply()).text == "fine"
        assert ("assistant", "one two t") in on.ms.last.reading.turns
        await settled(on)
    assert len(texts(on)) == 2


async def test_stop_before_the_first_word_says_that_it_stopped(on: BotHarness) -> None:
    gate = on.ms.gate("never")
    async with running(on):
        on.tg.say("think")
        await gate.reached()
        on.tg.say("stop")
        assert (await on.tg.reply()).text == "⏹ Stopped."


async def test_stop_without_a_running_turn(on: BotHarness) -> None:
    """Only the command stops; the plain word is a normal message."""
    async with running(on):
        on.tg.say("/stop")
        assert (await on.tg.reply()).text == "Nothing is running here."
        on.tg.say("stop")
        assert (await on.tg.reply()).text == "You said: stop"


async def test_messages_wait_visibly_and_are_answered_in_order(on: BotHarness) -> None:
    gate = on.ms.gate("first")
    async with running(on):
        first = on.tg.say("one")
        await gate.reached()
        *_, newest = [on.tg.say(word) for word in ("two", "three", "four")]
        await on.tg.wait_for(lambda _: newest.emoji == ["👀"])
        assert first.emoji == []
        assert len(on.ms.calls) == 1
        gate.open()
        replies = await on.tg.reply(count=4)
    assert [reply.text for reply in replies] == ["first", "You said: two", "You said: three", "You said: four"]
    assert list(on.ms.last.reading.turns)[-3:] == [
        ("user", "three"),
        ("assistant", "You said: three"),
        ("user", "four"),
    ]


async def test_stop_ends_the_running_turn_only(on: BotHarness) -> None:
    gate = on.ms.gate("never")
    async with running(on):
        on.tg.say("one")
        await gate.reached()
        two = on.tg.say("two")
        await on.tg.wait_for(lambda _: two.emoji)
        on.tg.say("/stop")
        assert [reply.text for reply in await on.tg.reply(count=2)] == ["⏹ Stopped.", "You said: two"]


async def test_retry_waits_for_the_running_turn(on: BotHarness) -> None:
    gate = on.ms.gate("first")
    async with running(on):
        on.tg.say("one")
        await gate.reached()
        retry = on.tg.say("/retry")
        await on.tg.wait_for(lambda _: retry.emoji == ["👀"])
        on.ms.reply("second")
        gate.open()
        assert [reply.text for reply in await on.tg.reply(count=2)] == ["first", "second"]
        assert on.ms.last.last_user_text == "one"


async def test_an_update_delivered_twice_is_answered_once(on: BotHarness) -> None:
    async with running(on):
        message = on.tg.say("once")
        await on.tg.reply()
        on.tg.redeliver(message)
        on.tg.say("after it")
        assert (await on.tg.reply()).text == "You said: after it"
        await settled(on)
    assert len(on.ms.calls) == 2
    async with running(on):  # and across a restart
        on.tg.redeliver(message)
        on.tg.say("later")
        assert (await on.tg.reply()).text == "You said: later"
        await settled(on)
    assert len(on.ms.calls) == 3
    assert len(texts(on)) == 3


async def test_an_update_delivered_twice_while_it_is_answered(on: BotHarness) -> None:
    gate = on.ms.gate("one answer")
    async with running(on):
        message = on.tg.say("once")
        await gate.reached()
        on.tg.redeliver(message)
        other = on.tg.say("two")
        await on.tg.wait_for(lambda _: other.emoji)
        gate.open()
        await on.tg.reply(count=2)
        await settled(on)
    assert texts(on) == ["one answer", "You said: two"]


async def test_messages_from_downtime_follow_the_unfinished_ones(on: BotHarness) -> None:
    """Unfinished messages of the last run and Telegram's redeliveries meet: nothing twice, nothing out of order."""
    gate = on.ms.gate("never")
    async with BotProcess(on) as bot:
        on.tg.say("q0")
        await gate.reached(60.0)
        early = [on.tg.say(f"q{number}") for number in range(1, 6)]
        await on.tg.wait_for(lambda _: early[-1].emoji)
        await bot.kill()
    for number in range(6, 16):
        on.tg.say(f"q{number}")
    async with running(on):
        await on.tg.reply(count=16)
        await settled(on)
    assert texts(on) == [f"You said: q{number}" for number in range(16)]


async def test_a_platform_that_fails_on_one_message_answers_the_next(on: BotHarness) -> None:
    """After a bug, the affected message is answered after the next start, the ones behind it at once."""
    gate = on.ms.gate("first")
    async with running(on) as app:
        on.tg.say("one")
        await gate.reached()
        waiting: list[Message] = [on.tg.say("two"), on.tg.say("three")]
        await on.tg.wait_for(lambda _: waiting[-1].emoji)
        telegram: Any = app.messaging.platforms["telegram"]
        live = telegram.live

        def fails_once(*given: object) -> object:
            telegram.live = live
            raise RuntimeError("unexpected")

        telegram.live = fails_once
        gate.open()
        assert [reply.text for reply in await on.tg.reply(count=2)] == ["first", "You said: three"]
    async with running(on):
        assert (await on.tg.reply()).text == "You said: two"

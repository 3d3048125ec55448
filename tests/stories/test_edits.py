"""Editing a message offers a new answer."""

from __future__ import annotations

import pytest

from tests.polling import until
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask, running

STALE = "This button is out of date. Send the question again."


def stored_conversations(on: BotHarness) -> list[tuple[object, ...]]:
    """The stored messages of every conversation."""
    return on.rows("select text from messages order by id")


async def edit_offer(on: BotHarness, message: Message, words: str) -> Message:
    """Edits the message; returns the bot's offer."""
    on.tg.edit(message, words)
    return await on.tg.reply(message, matching="Answer the new version?")


async def refused(on: BotHarness, button: str, message: Message) -> None:
    """A press that changes neither chat nor history, and says why."""
    before, seen, calls = stored_conversations(on), message.text, len(on.ms.calls)
    on.tg.press(button, message=message)
    reply = await on.tg.reply(message, after=message, matching=STALE)
    assert reply.text == STALE
    assert message.text == seen
    assert stored_conversations(on) == before
    assert len(on.ms.calls) == calls


async def test_editing_the_last_question_offers_a_new_answer(on: BotHarness) -> None:
    on.ms.reply("Ada was a countess.")
    on.ms.reply("Ida was a chemist.")
    async with running(on):
        message = on.tg.say("Who was Ada?")
        await on.tg.reply(message, after=message)
        on.tg.edit(message, "Who was Ida?\n\nIn : one sentence")
        offer = await on.tg.reply(after=message.chat.from_bot()[-1])
        assert "Answer the new version?" in offer.text
        assert len(on.ms.calls) == 1
        on.tg.press("🔁 Answer again", message=offer)
        await on.tg.wait_for(lambda _: any("Ida was a chemist." in each.text for each in message.chat.from_bot()))
        await ask(on, "thanks")
    assert [turn for turn in on.ms.last.reading.turns if turn[0] != "system"] == [
        ("user", "Who was Ida?\n\nIn : one sentence"),
        ("assistant", "Ida was a chemist."),
        ("user", "thanks"),
    ]


async def test_editing_an_older_message_offers_nothing(on: BotHarness) -> None:
    async with running(on):
        first = on.tg.say("one")
        await on.tg.reply(first, after=first)
        await ask(on, "two")
        before = len(first.chat.from_bot())
        on.tg.edit(first, "one and a half")
        await on.tg.wait_for(lambda _: len(first.chat.from_bot()) > before)
        assert "only answer edits of your last message" in first.chat.from_bot()[-1].text
    assert len(on.ms.calls) == 2


async def test_retry_uses_edited_text_and_a_tier(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "/retry smart : two")
    assert on.ms.last.reading.last_user_text == "two"
    assert on.ms.last.reading.effort == "high"
    assert on.rows("select text from messages where role = 'user'") == [("two",)]


@pytest.mark.parametrize("between", [(), ("/new",)], ids=["in the same conversation", "in another conversation"])
async def test_an_outdated_offer_leaves_newer_questions_alone(on: BotHarness, between: tuple[str, ...]) -> None:
    async with running(on):
        message = on.tg.say("Who was Ada?")
        await on.tg.reply(message, after=message)
        offer = await edit_offer(on, message, "Who was Ida?")
        for each in (*between, "something else entirely"):
            await ask(on, each)
        await refused(on, "🔁 Answer again", offer)
    answers = [("Who was Ada?",), ("You said: Who was Ada?",)]
    assert stored_conversations(on) == [*answers, ("something else entirely",), ("You said: something else entirely",)]


async def test_an_outdated_offer_leaves_an_empty_conversation_alone(on: BotHarness) -> None:
    async with running(on):
        message = on.tg.say("Who was Ada?")
        await on.tg.reply(message, after=message)
        offer = await edit_offer(on, message, "Who was Ida?")
        await ask(on, "/new")
        await refused(on, "🔁 Answer again", offer)
        await ask(on, "/history resume 1")
        await on.tg.wait_for(lambda _: offer.buttons == [])
        assert (await ask(on, "/retry")).text == "You said: Who was Ida?"


async def test_an_older_offer_uses_the_newest_text(on: BotHarness) -> None:
    async with running(on):
        message = on.tg.say("Who was Ada?")
        await on.tg.reply(message, after=message)
        older, newer = await edit_offer(on, message, "Who was Ida?"), await edit_offer(on, message, "Who was Eda?")
        on.tg.press("🔁 Answer again", message=newer)
        await on.tg.reply(message, matching="You said: Who was Eda?")
        await refused(on, "🔁 Answer again", older)
        await ask(on, "/retry")
    assert stored_conversations(on) == [("Who was Eda?",), ("You said: Who was Eda?",)]


async def test_an_outdated_retry_leaves_newer_questions_alone(on: BotHarness) -> None:
    on.ms.fail(400, "bad", "nope")
    async with running(on):
        failed = await ask(on, "first question")
        await ask(on, "second question")
        await refused(on, "🔁 Retry", failed)
    assert stored_conversations(on) == [("first question",), ("second question",), ("You said: second question",)]


async def test_a_retry_outdated_while_waiting_says_so(on: BotHarness) -> None:
    on.ms.truncate(after_chunks=4, text="one two three four")
    async with running(on):
        cut = await ask(on, "count")
        seen = cut.text
        gate = on.ms.gate("at last")
        second = on.tg.say("second question")
        await gate.reached()
        on.tg.press("🔁 Retry", message=cut)
        await until(lambda: on.rows("select count(*) from inbox") == [(3,)])
        gate.open()
        assert (await on.tg.reply(second, after=second, matching="at last")).text == "at last"
        await on.tg.reply(second, after=second, matching=STALE)
        assert cut.text == seen
    assert stored_conversations(on)[-2:] == [("second question",), ("at last",)]


async def test_a_pressed_button_disappears_and_the_new_answer_has_one(on: BotHarness) -> None:
    for _ in range(2):
        on.ms.fail(400, "bad", "nope")
    async with running(on):
        first = await ask(on, "my question")
        on.tg.press("🔁 Retry", message=first)
        second = await on.tg.reply(first, after=first, matching="refused the request")
        await on.tg.wait_for(lambda _: first.buttons == [])
        assert len(second.buttons) > 0
        on.tg.press("🔁 Retry", message=second)
        await on.tg.reply(first, after=second, matching="You said: my question")
        await on.tg.wait_for(lambda _: second.buttons == [])
    assert stored_conversations(on) == [("my question",), ("You said: my question",)]


async def test_retry_after_an_edit_asks_the_edited_words(on: BotHarness) -> None:
    async with running(on):
        message = on.tg.say("Who was Ada?")
        await on.tg.reply(message, after=message)
        await edit_offer(on, message, "!smart Who was Ida?")
        await ask(on, "/retry")
        assert on.ms.last.reading.last_user_text == "Who was Ida?"
        assert on.ms.last.reading.effort == "high"
        await ask(on, "/retry : Who was Eda?")
        assert on.ms.last.reading.last_user_text == "Who was Eda?"
        await ask(on, "Who was Oda?")
        await ask(on, "/retry")
        assert on.ms.last.reading.last_user_text == "Who was Oda?"
    assert on.rows("select count(*) from state where key like 'edit of%'") == [(1,)]


async def test_an_edit_during_the_answer_can_be_retried(on: BotHarness) -> None:
    async with running(on):
        gate = on.ms.gate("Ada was a countess.")
        message = on.tg.say("Who was Ada?")
        await gate.reached()
        on.tg.edit(message, "Who was Ida?")
        await on.tg.reply(message, matching="still answering the old version")
        gate.open()
        await on.tg.reply(message, after=message, matching="Ada was a countess.")
        await ask(on, "/retry")
    assert on.ms.last.reading.last_user_text == "Who was Ida?"


async def test_an_interrupted_retry_has_a_retry_button(on: BotHarness) -> None:
    on.ms.fail(400, "bad", "nope")
    on.ms.truncate(after_chunks=4, text="one two three four")
    async with running(on):
        failed = await ask(on, "count")
        on.tg.press("🔁 Retry", message=failed)
        cut = await on.tg.reply(failed, after=failed, matching="cut the answer off")
        await on.tg.wait_for(lambda _: failed.buttons == [])
        on.tg.press("🔁 Retry", message=cut)
        await on.tg.reply(failed, after=cut, matching="You said: count")
    assert stored_conversations(on) == [("count",), ("You said: count",)]


async def test_a_menu_explains_at_the_button_why_it_is_refused(on: BotHarness) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "/new")
        await ask(on, "two")
        listed = await ask(on, "/history")
        seen = listed.text
        on.change("DELETE FROM messages WHERE conversation_id = 1")
        notice = await on.tg.answered(on.tg.press("2", message=listed))
        assert "There is no conversation 2" in notice["text"]
        assert listed.text == seen

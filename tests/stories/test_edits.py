"""A message that is edited is answered anew when its person wants it."""

from __future__ import annotations

import pytest

from tests.servers.telegram import Message
from tests.stories.harness import Stage, ask, running
from tests.stories.killing import until

STALE = "The question of this button is no longer the last one here, or was asked anew since."


def asked_and_answered(on: Stage) -> list[tuple[object, ...]]:
    """All that is remembered, of every conversation."""
    return on.rows("select text from messages order by id")


async def offered(on: Stage, said: Message, words: str) -> Message:
    """The message is edited; what the bot offers then."""
    on.tg.edit(said, words)
    return await on.tg.reply(said, matching="Shall I answer the new words instead?")


async def refused(on: Stage, button: str, message: Message) -> None:
    """A press that changes nothing, in the chat as little as in what is remembered, and says why."""
    before, seen, calls = asked_and_answered(on), message.text, len(on.ms.calls)
    on.tg.press(button, message=message)
    said = await on.tg.reply(message, after=message, matching=STALE)
    assert "send it again" in said.text and message.text == seen
    assert asked_and_answered(on) == before and len(on.ms.calls) == calls


async def test_the_last_question_is_answered_in_its_new_words(on: Stage) -> None:
    on.ms.reply("Ada was a countess.")
    on.ms.reply("Ida was a chemist.")
    async with running(on):
        said = on.tg.say("Who was Ada?")
        await on.tg.reply(said, after=said)
        on.tg.edit(said, "Who was Ida?\n\nIn : one sentence")
        offer = await on.tg.reply(after=said.chat.from_bot()[-1])
        assert "Shall I answer the new words instead?" in offer.text and len(on.ms.calls) == 1
        on.tg.press("🔁 Answer them", message=offer)
        await on.tg.wait_for(lambda _: any("Ida was a chemist." in each.text for each in said.chat.from_bot()))
        await ask(on, "thanks")
    assert [turn for turn in on.ms.last.reading.turns if turn[0] != "system"] == [
        ("user", "Who was Ida?\n\nIn : one sentence"),
        ("assistant", "Ida was a chemist."),
        ("user", "thanks"),
    ]


async def test_an_older_message_is_not(on: Stage) -> None:
    async with running(on):
        first = on.tg.say("one")
        await on.tg.reply(first, after=first)
        await ask(on, "two")
        before = len(first.chat.from_bot())
        on.tg.edit(first, "one and a half")
        await on.tg.wait_for(lambda _: len(first.chat.from_bot()) > before)
        assert "my answer stands" in first.chat.from_bot()[-1].text
    assert len(on.ms.calls) == 2


async def test_retry_takes_new_words_and_a_tier(on: Stage) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "/retry smart : two")
    assert on.ms.last.reading.last_user_text == "two" and on.ms.last.reading.effort == "high"
    assert on.rows("select text from messages where role = 'user'") == [("two",)]


@pytest.mark.parametrize("between", [(), ("/new",)], ids=["in the same conversation", "in another conversation"])
async def test_an_old_offer_touches_no_newer_question(on: Stage, between: tuple[str, ...]) -> None:
    async with running(on):
        said = on.tg.say("Who was Ada?")
        await on.tg.reply(said, after=said)
        offer = await offered(on, said, "Who was Ida?")
        for each in (*between, "something else entirely"):
            await ask(on, each)
        await refused(on, "🔁 Answer them", offer)
    answers = [("Who was Ada?",), ("You said: Who was Ada?",)]
    assert asked_and_answered(on) == [*answers, ("something else entirely",), ("You said: something else entirely",)]


async def test_an_old_offer_touches_no_empty_conversation(on: Stage) -> None:
    async with running(on):
        said = on.tg.say("Who was Ada?")
        await on.tg.reply(said, after=said)
        offer = await offered(on, said, "Who was Ida?")
        await ask(on, "/new")
        await refused(on, "🔁 Answer them", offer)
        await ask(on, "/history resume 1")
        on.tg.press("🔁 Answer them", message=offer)
        await on.tg.reply(said, matching="You said: Who was Ida?")


async def test_an_older_offer_does_not_bring_older_words_back(on: Stage) -> None:
    async with running(on):
        said = on.tg.say("Who was Ada?")
        await on.tg.reply(said, after=said)
        older, newer = await offered(on, said, "Who was Ida?"), await offered(on, said, "Who was Eda?")
        on.tg.press("🔁 Answer them", message=newer)
        await on.tg.reply(said, matching="You said: Who was Eda?")
        await refused(on, "🔁 Answer them", older)
        await ask(on, "/retry")
    assert asked_and_answered(on) == [("Who was Eda?",), ("You said: Who was Eda?",)]


async def test_an_old_retry_touches_no_newer_question(on: Stage) -> None:
    on.ms.fail(400, "bad", "nope")
    async with running(on):
        failed = await ask(on, "first question")
        await ask(on, "second question")
        await refused(on, "🔁 Retry", failed)
    assert asked_and_answered(on) == [("first question",), ("second question",), ("You said: second question",)]


async def test_an_old_retry_that_waited_for_its_turn_says_so(on: Stage) -> None:
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
    assert asked_and_answered(on)[-2:] == [("second question",), ("at last",)]


async def test_a_retry_that_failed_can_be_pressed_again_at_either_place(on: Stage) -> None:
    for _ in range(3):
        on.ms.fail(400, "bad", "nope")
    async with running(on):
        first = await ask(on, "my question")
        on.tg.press("🔁 Retry", message=first)
        second = await on.tg.reply(first, after=first, matching="refused the request")
        on.tg.press("🔁 Retry", message=first)
        await on.tg.reply(first, after=second, matching="refused the request")
        on.tg.press("🔁 Retry", message=second)
        await on.tg.reply(first, after=second, matching="You said: my question")
        await refused(on, "🔁 Retry", first)
    assert asked_and_answered(on) == [("my question",), ("You said: my question",)]


async def test_a_retry_that_broke_off_has_a_button_of_its_own(on: Stage) -> None:
    on.ms.fail(400, "bad", "nope")
    on.ms.truncate(after_chunks=4, text="one two three four")
    async with running(on):
        failed = await ask(on, "count")
        on.tg.press("🔁 Retry", message=failed)
        cut = await on.tg.reply(failed, after=failed, matching="broke off")
        await refused(on, "🔁 Retry", failed)
        on.tg.press("🔁 Retry", message=cut)
        await on.tg.reply(failed, after=cut, matching="You said: count")
    assert asked_and_answered(on) == [("count",), ("You said: count",)]


async def test_a_menu_that_may_not_do_it_now_says_why_at_its_button(on: Stage) -> None:
    async with running(on):
        await ask(on, "one")
        await ask(on, "/new")
        await ask(on, "two")
        listed = await ask(on, "/history")
        seen = listed.text
        on.change("DELETE FROM messages WHERE conversation_id = 1")
        notice = await on.tg.answered(on.tg.press("2", message=listed))
        assert "There is no conversation 2" in notice["text"] and listed.text == seen

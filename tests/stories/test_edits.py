"""A message that is edited is answered anew when its person wants it."""

from __future__ import annotations

from tests.stories.harness import Stage, ask, running


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

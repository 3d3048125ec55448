"""▶ Continue uses the tier of the answer, and works only for the last answer."""

from __future__ import annotations

import pytest

from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import asked, at, facts, labels, vendors

PROOF = "Prove P != NP"


@pytest.mark.parametrize(("before", "question"), [("/tier balanced", "!deep hm"), ("/tier auto", PROOF)])
async def test_continue_stays_in_the_tier_of_the_answer(on: BotHarness, before: str, question: str) -> None:
    vendors(on)
    on.ms.length_cut("as far as", when=at("openai"))
    on.ms.length_cut("it went", when=at("openai"))
    async with running(on):
        await ask(on, before)
        cut = await ask(on, question)
        newest = await ask(on, "/tier balanced")
        for _ in range(2):
            assert facts(on)["tier"] == "deep"
            assert labels(cut)[0] == "▶ Continue"
            on.tg.press("▶ Continue", message=cut)
            newest = cut = await on.tg.reply(after=newest)
        assert (cut.text, facts(on)["tier"]) == ("You said: go on", "deep")
    turns = [turn for turn in on.ms.last.reading.turns if turn[0] == "assistant"]
    assert turns == [("assistant", "as far as"), ("assistant", "it went")]


async def test_continue_below_an_older_answer_is_refused(on: BotHarness) -> None:
    vendors(on)
    on.ms.length_cut("as far as", when=at("openai"))
    async with running(on):
        cut = await ask(on, "hm")
        newer = await ask(on, "something else")
        on.tg.press("▶ Continue", message=cut)
        sorry = await on.tg.reply(after=newer)
        assert sorry.text == "This button is out of date: there is a newer answer here. Nothing was asked."
    assert len(asked(on)) == 2

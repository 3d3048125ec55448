"""Tiers whose contract requires a peer review or a verifier."""

from __future__ import annotations

import pytest

from tests.library import litellm_without_clients
from tests.stories.discording import settled
from tests.stories.failing import POOLS, asked, at, vendors
from tests.stories.harness import Stage, ask, running
from tests.stories.killing import until

FIRST, CLAUDE, GEMINI = POOLS["balanced"]
DOUBT = '{"doubt": true, "why": "It is Canberra, not Sydney."}'
NONE = '{"doubt": false}'


@pytest.fixture(autouse=True)
def own_clients() -> None:
    """The library's clients of other vendors belong to an earlier test's loop, or to one with the same address."""
    litellm_without_clients()


def required(on: Stage, key: str, *names: str) -> None:
    vendors(on, *names)
    tiers = on.config["tiers"]
    assert isinstance(tiers, dict)
    tiers["smart"] |= {key: True}


async def test_a_peers_disagreement_stands_below_the_answer(on: Stage) -> None:
    required(on, "requiresPeerReview")
    on.ms.reply("Sydney.", when=at("openai"))
    on.ms.reply(DOUBT, when=at("anthropic"))
    on.ms.reply(NONE, when=at("gemini"))
    async with running(on):
        answer = await ask(on, "!smart What is Australia's capital?")
        assert answer.text == f"Sydney.\n\n🔍 Peer review: {CLAUDE} disagrees: It is Canberra, not Sydney."
        assert sorted(asked(on)) == sorted([POOLS["smart"][0], CLAUDE, GEMINI])
        assert on.rows("select count(*) from usage") == [(3,)], "the reviews are in the books"
        assert (await ask(on, "and now?")).text == "You said: and now?", "other tiers are not reviewed"
    assert len(on.ms.calls) == 4


async def test_without_another_vendor_the_answer_says_that_it_was_not_reviewed(on: Stage) -> None:
    required(on, "requiresPeerReview", "openai")
    async with running(on):
        answer = await ask(on, "!smart hm")
    assert answer.text == "You said: hm\n\n⚠️ No model of another vendor reviewed this answer."


async def test_a_required_verifier_checks_the_tier_and_says_when_it_could_not(on: Stage) -> None:
    required(on, "requiresVerifier")
    on.ms.reply("Sydney.", when=at("openai"))
    on.ms.reply(DOUBT, when=at("anthropic"))
    async with running(on):
        answer = await ask(on, "!smart What is Australia's capital?")
        doubt = await on.tg.reply(after=answer)
        assert doubt.text == f"🔍 {CLAUDE} doubts this: It is Canberra, not Sydney."
        await until(lambda: on.rows("select count(*) from usage") == [(2,)])
        on.ms.fail(500, when=at("anthropic"))
        answer = await ask(on, "!smart And New Zealand's?")
        missing = await on.tg.reply(after=answer)
        assert missing.text == "⚠️ This answer was not verified: no model of another vendor could check it."
        on.ms.reply(NONE, when=at("anthropic"))
        await ask(on, "hm")
        await settled(on)
    assert asked(on)[-1] == FIRST, "other tiers are not checked"

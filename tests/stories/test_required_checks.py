"""Tiers whose contract requires a peer review or a verifier."""

from __future__ import annotations

import pytest

from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.model.script import Usage
from tests.stories.councils import Members, enable_council
from tests.stories.discord_bot import hurried as hurried
from tests.stories.discord_bot import shown, texts, up
from tests.stories.harness import BotHarness, ask, running, settled
from tests.stories.vendors import POOLS, asked, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST, CLAUDE, GEMINI = POOLS["balanced"]
DOUBT = '{"doubt": true, "why": "It is Canberra, not Sydney."}'
NONE = '{"doubt": false}'


def required(on: BotHarness, key: str, *names: str) -> None:
    vendors(on, *names)
    tiers = on.config["tiers"]
    assert isinstance(tiers, dict)
    tiers["smart"] |= {key: True}


async def test_a_peers_disagreement_is_shown_below_the_answer(on: BotHarness) -> None:
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


async def test_without_another_vendor_the_missing_review_is_noted(on: BotHarness) -> None:
    required(on, "requiresPeerReview", "openai")
    async with running(on):
        answer = await ask(on, "!smart hm")
    assert answer.text == "You said: hm\n\n⚠️ No model of another vendor reviewed this answer."


async def test_a_required_verifier_checks_the_answer_or_reports_failure(on: BotHarness) -> None:
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


async def test_an_answer_from_a_discord_button_is_verified_below_it(
    on: BotHarness, dc: DiscordServer, hurried: None
) -> None:
    required(on, "requiresVerifier")
    async with running(on) as app:
        await up(dc, app)
        on.ms.fail(400, when=at("openai"))
        on.ms.fail(400, when=at("anthropic"))
        on.ms.fail(400, when=at("gemini"))
        question = dc.say("!smart What is Australia's capital?")
        failed = await dc.reply(question, after=question)
        on.ms.reply("Sydney.", when=at("openai"))
        on.ms.reply(DOUBT, when=at("anthropic"))
        await dc.wait_for(lambda _: failed.buttons)
        pressed = dc.press(failed, "🔁 Retry")
        doubt = f"🔍 `{CLAUDE}` doubts this: `It is Canberra, not Sydney.`"
        await dc.wait_for(lambda _: any(doubt in text for text in texts(dc.dm())))
        await settled(on)
        assert [text for text in texts(dc.dm()) if text == "Sydney."], "the answer is unchanged"
        assert not any(message.ephemeral for message in pressed.answers)


async def test_an_ephemeral_answer_is_verified_privately(on: BotHarness, dc: DiscordServer, hurried: None) -> None:
    on.env["BOT_ACCESS"] = "open"
    enable_council(on, members=Members(synthesis="Sydney."))
    tiers = on.config["tiers"]
    assert isinstance(tiers, dict)
    tiers["smart"] |= {"requiresVerifier": True}
    async with running(on) as app:
        await up(dc, app)
        elsewhere = dc.channel("general", dc.guild("Elsewhere", has_bot=False))
        first = dc.slash("council", {"council": "What is Australia's capital?"}, where=elsewhere)
        await dc.wait_for(lambda _: any("Sydney." in text for text in shown(first)))
        on.ms.reply("Sydney.", when=at("openai"))
        on.ms.reply(DOUBT, when=at("anthropic"))
        asked_again = dc.slash("retry", {"retry": "smart"}, where=elsewhere)
        doubt = f"🔍 `{CLAUDE}` doubts this: `It is Canberra, not Sydney.`"
        await dc.wait_for(lambda _: doubt in shown(asked_again))
        assert shown(asked_again)[0] == "Sydney."
        assert all(each.ephemeral for each in asked_again.answers)


async def test_stop_during_a_peer_review_keeps_the_answer_and_its_cost(on: BotHarness) -> None:
    required(on, "requiresPeerReview")
    on.ms.reply("Sydney.", when=at("openai"))
    gates = [on.ms.reply(DOUBT, when=at(vendor), gate_after=0) for vendor in ("anthropic", "gemini")]
    async with running(on):
        message = on.tg.say("!smart What is Australia's capital?")
        for gate in gates:
            await gate.reached(60.0)
        on.tg.say("/stop")
        await until(lambda: on.rows("select count(*) from inbox where state = 'done'") != [(0,)])
        for gate in gates:
            gate.open()
        answer = await on.tg.reply(message, after=message, matching="review")
        assert answer.text == "Sydney.\n\n⚠️ No model of another vendor reviewed this answer."
        assert on.rows("select count(*) from usage") == [(3,)], "reviews that were ended are in the books"
        assert (await ask(on, "and now?")).text == "You said: and now?"


async def test_an_unaffordable_peer_review_is_noted_as_missing(on: BotHarness) -> None:
    required(on, "requiresPeerReview")
    on.config["budget"] = {"perUserDailyUsd": 0.1}
    on.ms.reply("Sydney.", when=at("openai"), usage=Usage(1_000, 12_000))
    on.ms.reply(DOUBT, when=at("anthropic"))
    async with running(on):
        answer = await ask(on, "!smart What is Australia's capital?")
    assert answer.text == "Sydney.\n\n⚠️ No model of another vendor reviewed this answer."
    assert asked(on) == [POOLS["smart"][0]]

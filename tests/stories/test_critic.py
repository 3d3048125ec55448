"""The critic checks an answer after it was sent, and the owner is told when many turns fail."""

from __future__ import annotations

import json

import pytest

from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.telegram import Message
from tests.stories.councils import ASKED, GPT, enable_council, part_of
from tests.stories.councils import at as seat
from tests.stories.discord_bot import hurried as hurried
from tests.stories.discord_bot import mention, up
from tests.stories.harness import BotHarness, ask, running, settled
from tests.stories.vendors import POOLS, asked, assert_own_keys, at, labels, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST, CLAUDE, GEMINI = POOLS["balanced"]
DOUBT = '{"doubt": true, "why": "It is Canberra, not Sydney."}'
WORDS = f"🔍 {CLAUDE} doubts this: It is Canberra, not Sydney."
ANTHROPIC = at("anthropic")


def critical(on: BotHarness, *names: str, **more: object) -> None:
    vendors(on, *names)
    on.config["critic"] = {"enabled": True} | more


async def looked(on: BotHarness, calls: int) -> None:
    """Waits until this many model calls are recorded and nothing is left to send."""
    await until(lambda: on.rows("select count(*) from usage") == [(calls,)])
    await settled(on)


def bot_messages(on: BotHarness) -> list[str]:
    return [message.text for message in on.tg.private().from_bot()]


async def test_a_critic_notice_offers_the_higher_tier(on: BotHarness) -> None:
    critical(on)
    on.ms.reply("Sydney.", when=at("openai"))
    on.ms.reply(DOUBT, when=ANTHROPIC)
    async with running(on):
        answer = await ask(on, "What is Australia's capital?")
        doubt: Message = await on.tg.reply(after=answer)
        assert (answer.text, doubt.text, labels(doubt)) == ("Sydney.", WORDS, ["🔁 Retry on smart"])
        await looked(on, 2)
        assert on.rows("select tier, model from usage order by id") == [("balanced", FIRST), ("balanced", CLAUDE)]
        assert len({row[0] for row in on.rows("select turn_id from usage")}) == 1
        assert on.rows("select count(*) from messages") == [(2,)], "the history has the question and its answer"
        on.tg.react(doubt, "👎")
        on.ms.reply("Canberra.", when=at("openai"))
        on.tg.press("🔁 Retry on smart", message=doubt)
        assert (await on.tg.reply(after=doubt)).text == "Canberra."
        await looked(on, 3)
        assert on.rows("select rating from turns") == [(None,), (None,)], "a notice is not an answer"
    assert asked(on) == [FIRST, CLAUDE, POOLS["smart"][0]], "the higher tier's answer is unchanged"
    assert_own_keys(on)


async def test_an_unsent_critic_notice_survives_a_restart(on: BotHarness) -> None:
    critical(on)
    on.ms.reply(DOUBT, when=ANTHROPIC)
    async with running(on):
        answer = await ask(on, "hm")
        await on.tg.reply(after=answer)
        await looked(on, 2)
    on.change("update outbox set state = 'pending' where id = 2")
    async with running(on):
        again = await on.tg.reply(after=answer)
        assert again.text.endswith(WORDS)


@pytest.mark.parametrize(
    "words", ['{"doubt": false}', "I agree!", '{"doubt": true}', "doubt"], ids=["none", "words", "no why", "one word"]
)
async def test_without_red_flags_there_is_no_critic_notice(on: BotHarness, words: str) -> None:
    critical(on)
    on.ms.reply(words, when=ANTHROPIC)
    async with running(on):
        await ask(on, "hm")
        await looked(on, 2)
    assert bot_messages(on) == ["You said: hm"]
    assert asked(on) == [FIRST, CLAUDE]


async def test_a_failing_or_hanging_critic_goes_unnoticed(on: BotHarness) -> None:
    critical(on)
    on.ms.fail(500, when=ANTHROPIC)
    async with running(on):
        await ask(on, "one")
        await until(lambda: len(on.ms.calls) == 2)
        gate = on.ms.gate(DOUBT, when=ANTHROPIC)
        await ask(on, "two")
        await gate.reached()
        assert (await ask(on, "!smart three")).text == "You said: three", "the turn does not wait for it"
    gate.open()
    assert bot_messages(on) == ["You said: one", "You said: two", "You said: three"]


async def test_the_critic_is_off_by_default_and_for_other_tiers(on: BotHarness) -> None:
    vendors(on)
    async with running(on):
        await ask(on, "one")
    critical(on)
    async with running(on):
        for tier in ("smart", "coding", "deep"):
            await ask(on, f"!{tier} two")
    assert {model.partition("/")[0] for model in asked(on)} == {"openai"}
    assert len(on.ms.calls) == 4


async def test_urls_in_a_critic_notice_are_not_links(on: BotHarness) -> None:
    critical(on)
    hostile = {"doubt": True, "why": "Not Node.js: verify at evil-bank.com/login or t.me/evil \u202egpj `*x*`"}
    on.ms.reply(json.dumps(hostile), when=ANTHROPIC)
    async with running(on):
        doubt = await on.tg.reply(after=await ask(on, "hm"))
    shown = "Not Node.js: verify at evil-bank.com/login or t.me/evil gpj '*x*'"
    assert doubt.text == f"🔍 {CLAUDE} doubts this: {shown}"
    spans = [
        doubt.text.encode("utf-16-le")[2 * each["offset"] : 2 * (each["offset"] + each["length"])].decode("utf-16-le")
        for each in doubt.entities
        if each["type"] == "code"
    ]
    assert spans == [CLAUDE, shown], "no platform makes links in code"


async def test_councils_are_not_checked_by_the_critic(on: BotHarness) -> None:
    enable_council(on)
    on.config |= {"critic": {"enabled": True}, "tiers": {tier: {"pool": [GPT]} for tier in ("deep", "coding", "smart")}}
    on.ms.fail(500, when=seat("openai", "answers"))
    async with running(on):
        assert "🏛 2 of 3 answered" in (await ask(on, ASKED)).text
        assert on.rows("select tier, source from turns") == [("balanced", "council")]
        await ask(on, "!smart hm")
        await settled(on)
    assert [part_of(call) for call in on.ms.calls].count(None) == 1, "only later questions are excluded"


async def test_a_vendor_never_checks_its_own_answer(on: BotHarness) -> None:
    critical(on, "openai", model="openai/gpt-5-mini")
    async with running(on):
        await ask(on, "one")
        await settled(on)
    assert asked(on) == [FIRST]
    assert bot_messages(on) == ["You said: one"]


@pytest.mark.usefixtures("hurried")
async def test_a_critic_notice_on_discord(on: BotHarness, dc: DiscordServer) -> None:
    critical(on)
    on.env["BOT_ACCESS"] = "open"
    for _ in range(2):
        on.ms.reply(DOUBT, when=ANTHROPIC)
    async with running(on) as app:
        await up(dc, app)
        private = await dc.reply(dc.say("one"))
        doubt = await dc.reply(after=private)
        assert doubt.text == f"🔍 `{CLAUDE}` doubts this: `It is Canberra, not Sydney.`"
        assert [each["label"] for each in doubt.controls] == ["🔁 Retry on smart"]
        public = await mention(dc, "two")
        doubt = await dc.reply("general", after=public)
        assert "doubts this" in doubt.text
        assert doubt.reply_to is not None
        await settled(on)


async def test_many_fallbacks_are_reported_once_to_the_owner(on: BotHarness) -> None:
    vendors(on)
    async with running(on):
        await ask(on, "one")
        await settled(on)
    (row,) = on.rows("select person_id from turns")
    for number in range(48):
        on.change(
            "insert into turns (turn_id, person_id, tier, source, model, failed, fallback, timed_out, escalated, "
            "seconds, cost_nano, unknown, at) "
            "values (?, ?, 'balanced', 'default', 'a/x', '[]', ?, false, false, 1.0, 0, 0, 0.0)",
            f"t{number}",
            row[0],
            number < 20,
        )
    async with running(on):
        on.ms.fail(500, when=at("openai"))
        answer = await ask(on, "two")
        notice = await on.tg.reply(after=answer)
        assert notice.text.startswith("🔔 42% of the last 50 answers came from a fallback model")
        await ask(on, "three")
        await settled(on)
    assert sum("🔔" in text for text in bot_messages(on)) == 1

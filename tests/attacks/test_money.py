"""Spending stays within the owner's limits."""

from __future__ import annotations

import pytest

from handlers.access.rate_limit import RateLimit, parse_limits
from routing.errors import Refused
from tests.servers.discord import DiscordServer
from tests.servers.model.script import Usage
from tests.servers.telegram import User
from tests.stories.discord_bot import up
from tests.stories.harness import BotHarness, ask, running
from tests.stories.test_media import with_transcription

BOB = User(1002, "Bob")
DEAR = Usage(20_000, 2_000)
"""Tokens: $0.045 with gpt-5.1."""


def test_each_voice_of_an_album_counts_for_the_rate_limit() -> None:
    limit = RateLimit(parse_limits("20/minute"))
    assert limit.take(1, 100.0, 10)
    assert limit.take(1, 100.0, 10)
    with pytest.raises(Refused):
        limit.take(1, 100.0, 10)
    assert RateLimit(parse_limits("3/minute")).take(1, 100.0, 10), "an impossible reservation takes the whole window"


async def test_each_voice_of_one_message_counts(on: BotHarness, dc: DiscordServer) -> None:
    listener = with_transcription(on)
    on.env |= {"BOT_ACCESS": "open", "USER_RATE_LIMIT": "4/hour"}
    async with running(on) as app:
        await up(dc, app)
        said = dc.say("", user="bob", attachments=[(f"{number}.ogg", b"OggS", "audio/ogg") for number in range(4)])
        assert (await dc.reply(said, after=said)).text.startswith("You said: what I said aloud")
        more = dc.say("and this?", user="bob")
        assert "Too many messages at once" in (await dc.reply(more, after=more)).text
    assert len(listener.requests) == 4


async def test_an_edited_caption_counts_for_the_rate_limit(on: BotHarness) -> None:
    listener = with_transcription(on)
    on.env |= {"BOT_ACCESS": "open", "USER_RATE_LIMIT": "1/hour"}
    async with running(on):
        said = on.tg.say_voice(user="bob")
        await on.tg.reply(said, after=said)
        on.tg.edit(said, "louder")
        await on.tg.reply(said, matching="Too many messages at once")
    assert len(listener.requests) == 1


async def test_a_voice_message_is_priced_reserved_and_listed(on: BotHarness) -> None:
    listener = with_transcription(on)
    async with running(on):
        on.tg.say_voice(b"OggS" + b"x" * 20_000)
        await on.tg.reply()
        assert on.rows("select tier, model, held_nano from usage where tier = 'voice'") == [
            ("voice", "ears/whisper-1", 30_000_000)
        ], "unknown prices are estimated"
        assert "ears/whisper-1" in (await ask(on, "/usage")).text
        assert "Voice messages" in (await ask(on, "/usage tiers")).text
    on.config["budget"] = {"perUserDailyUsd": 0.0001}
    async with running(on):
        said = on.tg.say_voice(b"OggS" + b"x" * 20_000)
        assert "$0.0001 a day" in (await on.tg.reply(after=said)).text
    assert len(listener.requests) == 1


async def test_a_voice_message_costs_what_its_seconds_cost(on: BotHarness) -> None:
    with_transcription(on)
    mine = {"apiType": "openai", "baseUrl": on.ms.openai_base, "apiKey": "sk-mine-000000000000"}
    openai = {"apiType": "openai", "baseUrl": f"{on.tg.root}/v1"}
    on.config["llm"] = {"providers": {"mine": mine, "openai": openai}}
    on.env |= {"TRANSCRIPTION_MODEL": "openai/whisper-1", "TIER_BALANCED_POOL": "mine/gpt-5.1"}
    async with running(on):
        on.tg.say_voice()
        assert (await on.tg.reply()).text == "You said: what I said aloud"
    assert on.rows("select model, cost_nano from usage where tier = 'voice'") == [("openai/whisper-1", 90 * 100_000)]


async def test_a_guest_has_a_daily_budget_without_any_setting(on: BotHarness) -> None:
    on.env["BOT_ACCESS"] = "open"
    on.ms.reply("You said: hm", usage=DEAR, times=None)
    async with running(on):
        await ask(on, "/whoami", user=BOB)
        await ask(on, "/access role telegram:1002 guest")
        assert "of $0.25" in (await ask(on, "/budget", user=BOB)).text
        assert "budget left: $0.25 of $0.25" in (await ask(on, "/status", user=BOB)).text
        assert "of $0.25" in (await ask(on, "/status full", user=BOB)).text
        assert "no limit" in (await ask(on, "/budget")).text, "the owner has none"

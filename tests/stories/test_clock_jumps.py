"""The system clock is set while the bot runs: waits, deadlines and pauses are unaffected."""

from __future__ import annotations

import time

import pytest

from tests.fakes import ShiftedClock
from tests.polling import until
from tests.servers.discord import DiscordServer
from tests.servers.model.script import BEFORE_HEADERS
from tests.stories.access import code_in
from tests.stories.discord_bot import hurried, shown, up
from tests.stories.harness import OWNER, BotHarness, ask, running, settled
from tests.stories.test_linking import written
from tests.stories.vendors import POOLS, asked, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

__all__ = ["hurried"]

TWO_HOURS = 7200.0


@pytest.mark.parametrize("jump", [-TWO_HOURS, TWO_HOURS])
async def test_a_running_turn_continues(on: BotHarness, jump: float) -> None:
    """Also the next attempt of a turn whose first model failed."""
    vendors(on)
    clock = ShiftedClock()
    async with running(on, clock, time.time):
        failing = on.ms.fail(500, gate_after=BEFORE_HEADERS, when=at("openai"))
        message = on.tg.say("hm")
        await failing.reached()
        clock.ahead = jump
        failing.open()
        assert (await on.tg.reply(message, after=message)).text.startswith("You said: hm")
    assert asked(on) == list(POOLS["balanced"][:2])


@pytest.mark.parametrize("jump", [-TWO_HOURS, TWO_HOURS])
async def test_a_reply_that_failed_is_sent_again_after_its_pause(on: BotHarness, jump: float) -> None:
    clock = ShiftedClock()
    async with running(on, clock, time.time):
        broken = on.tg.fault("sendMessage", "too_many", retry_after=1)
        message = on.tg.say("hm")
        await until(lambda: broken.hits and on.rows("SELECT 1 FROM outbox WHERE not_before > 0"))
        clock.ahead = jump
        assert (await on.tg.reply(message)).text == "You said: hm"


async def test_a_code_is_valid_for_ten_minutes_of_real_time(on: BotHarness) -> None:
    """Also if the clock is set back and forward. After a restart a code is valid no longer than a new one."""
    clock = ShiftedClock()
    async with running(on, clock, time.time):
        made = await ask(on, "/access link")
        assert "10 minutes" in made.text
        clock.ahead = TWO_HOURS
        assert on.rows("SELECT 1 FROM links WHERE expires_at > ?", time.time())
    on.change("UPDATE links SET expires_at = expires_at + 7200")
    async with running(on, time.time):
        assert not on.rows("SELECT 1 FROM links WHERE expires_at > ?", time.time() + 601)


@pytest.mark.parametrize("jump", [-TWO_HOURS, TWO_HOURS])
async def test_codes_are_used_after_a_jump_and_expire_by_real_time(
    on: BotHarness, dc: DiscordServer, jump: float
) -> None:
    on.env["BOT_OWNERS"] = f"telegram:{OWNER}"
    clock, steady = ShiftedClock(), ShiftedClock()
    async with running(on, clock, steady) as app:
        await up(dc, app)
        pairing = code_in(await ask(on, "hi", user="bob"))
        link = code_in(await ask(on, "/access link"))
        clock.ahead = jump
        assert (await ask(on, f"/access pair {pairing}")).text.startswith("✅ Bob")
        await on.tg.reply(on.tg.private("bob"), matching="You said: hi")
        assert (await written(dc, f"/access link {link}", "ali")).text.startswith("🔗 You are one person")
        late, pairing = code_in(await ask(on, "/access link", user="bob")), code_in(await ask(on, "hi", user="eve"))
        clock.ahead, steady.ahead = 0.0, 601.0
        assert "it may have expired" in (await ask(on, f"/access pair {pairing}")).text
        assert "is not valid, or has expired" in (await written(dc, f"/access link {late}", "zoe")).text


@pytest.mark.parametrize("jump", [-TWO_HOURS, TWO_HOURS])
async def test_a_closed_group_is_told_once_per_hour_of_real_time(on: BotHarness, jump: float) -> None:
    clock, steady = ShiftedClock(), ShiftedClock()
    async with running(on, clock, steady):
        hint = await ask(on, "@tierbot hi", user="bob", group="Team")
        clock.ahead, steady.ahead = jump, 3500.0
        on.tg.say("@tierbot hi", user="bob", group="Team")
        await settled(on)
        assert hint.chat.from_bot() == [hint]
        steady.ahead = 3700.0
        assert (await ask(on, "@tierbot hi", user="bob", group="Team")).text == hint.text


@pytest.mark.parametrize("jump", [-TWO_HOURS, TWO_HOURS])
async def test_owners_are_told_of_a_rejected_key_once_per_hour_of_real_time(on: BotHarness, jump: float) -> None:
    vendors(on)
    clock, steady = ShiftedClock(), ShiftedClock()
    async with running(on, clock, steady):
        on.ms.fail(401, when=at("openai"), times=9)
        assert "↪" in (await ask(on, "hm")).text
        notice = await on.tg.reply(matching="🔑")
        clock.ahead, steady.ahead = jump, 1000.0  # its breaker lets a probe through
        assert "↪" in (await ask(on, "hm")).text
        await settled(on)
        assert [each.text for each in notice.chat.from_bot() if "🔑" in each.text] == [notice.text]
        steady.ahead = 3700.0
        assert "↪" in (await ask(on, "hm")).text
        await on.tg.wait_for(lambda _: sum("🔑" in each.text for each in notice.chat.from_bot()) == 2)
    assert asked(on).count(POOLS["balanced"][0]) == 3


async def test_a_cooldown_continues(on: BotHarness) -> None:
    vendors(on)
    clock = ShiftedClock()
    async with running(on, clock, time.time):
        on.ms.fail(429, when=at("openai"), retry_after=600)
        await ask(on, "one")
        clock.ahead = TWO_HOURS
        await ask(on, "two")
        assert "up 2 h" not in (await ask(on, "/status full")).text
    assert asked(on) == [POOLS["balanced"][0], POOLS["balanced"][1], POOLS["balanced"][1]]


async def test_a_command_on_discord_is_still_answered_to_its_interaction(
    on: BotHarness, dc: DiscordServer, hurried: None
) -> None:
    """For fifteen minutes of real time. Later it would go to the channel, where others can read it."""
    clock = ShiftedClock()
    async with running(on, clock, time.time) as app:
        await up(dc, app)
        clock.ahead = TWO_HOURS
        asked = dc.slash("whoami")
        await dc.wait_for(lambda _: shown(asked))

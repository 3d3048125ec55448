"""/tier and /status show a tier's contract and its providers' queues as a turn gets them."""

from __future__ import annotations

import pytest

from tests.fakes import ShiftedClock
from tests.servers.telegram import User
from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import asked, at, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

BOB = User(1002, "Bob")


async def test_status_shows_deadline_attempts_and_price(on: BotHarness) -> None:
    vendors(on, smart={"deadlineSeconds": 50.0, "firstTokenSeconds": 9.0, "attempts": 2})
    on.config["tiers"]["coding"]["deadlineSeconds"] = 60.0
    on.config["tiers"]["deep"]["deadlineSeconds"] = 70.0
    on.config["turn"] = {"deadlineSeconds": 25}
    async with running(on):
        shown = (await ask(on, "/tier smart")).text
        assert "Time limit 25 s (first words within 9 s), up to 2 tries." in shown, "the shorter one"
        assert "Price per million tokens: $1.25 in, $10.00 out." in shown
        await ask(on, "/settings language de")
        shown = (await ask(on, "/tier smart")).text
        assert "Preis pro Million Token: 1,25 $ für die Eingabe, 10,00 $ für die Ausgabe." in shown


async def test_status_shows_an_unknown_price(on: BotHarness) -> None:
    vendors(on, balanced={"pool": ["openai/strange-9", "anthropic/claude-haiku-4-5"]})
    async with running(on):
        assert "Price: unknown." in (await ask(on, "/tier")).text


async def test_a_single_vendor_pool_is_warned_about(on: BotHarness) -> None:
    vendors(on, balanced={"pool": ["openai/gpt-5.1", "openai/gpt-5.2"]})
    async with running(on):
        words = "Only one provider here (openai): if it fails, nothing can step in."
        assert words in (await ask(on, "/tier")).text
        assert words in (await ask(on, "/status full")).text
        assert words not in (await ask(on, "/tier smart")).text


async def test_status_shows_waiting_calls_and_current_limits(on: BotHarness) -> None:
    vendors(on)
    on.env["BOT_ACCESS"] = "open"
    on.config["parallel"] = {"perProvider": 1, "perUser": 3}
    async with running(on) as app:
        gate = on.ms.gate(when=at("openai"))
        first = on.tg.say("one")
        await gate.reached()
        second = on.tg.say("two", user=BOB)
        lines = app.engine.models.health.parallel
        await on.tg.wait_for(lambda _: lines.waiting("openai") == 1)
        assert "Waiting for openai: 1" in (await ask(on, "/status full")).text
        gate.open()
        for each in (first, second):
            await on.tg.reply(each, after=each)
        assert "Waiting for" not in (await ask(on, "/status full")).text
        assert len(asked(on)) == 2


async def test_status_shows_when_a_cooldown_ends(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(429, retry_after=90, when=at("openai"))
    clock = ShiftedClock()
    async with running(on, clock):
        await ask(on, "hm")
        clock.ahead = 20.0
        shown = (await ask(on, "/tier")).text
        assert "⚠️ Skipped for 1 min: openai/gpt-5.1 asked for a pause." in shown
        clock.ahead = 100.0
        assert "Skipped" not in (await ask(on, "/tier")).text

"""Time limits of a turn: they are used fully, and their end is reported."""

from __future__ import annotations

import re
from functools import partial

import pytest

from routing.types.tiers import TIERS
from tests.fakes import ShiftedClock, later
from tests.servers.model.script import BEFORE_HEADERS
from tests.servers.telegram import TelegramServer
from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import POOLS, asked, at, facts, labels, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST, CLAUDE, _ = POOLS["balanced"]
DOWN = "The server had an error"
OPENAI = at("openai")


async def test_deep_waits_for_its_contracts_first_token_time(on: BotHarness) -> None:
    vendors(on)
    del on.config["tiers"]
    async with running(on):
        assert (await ask(on, "hm")).text == "You said: hm", "LiteLLM is loaded"
        gate = on.ms.gate("At last.", when=OPENAI)
        message = on.tg.say("!deep a hard one")
        await gate.reached()
        later(380.0)
        await on.tg.wait_for(partial(thinks, 380))
        gate.open()
        assert (await on.tg.reply(message, after=message)).text == "At last."
    assert asked(on) == [FIRST, POOLS["deep"][0]]


async def test_the_deadline_ends_the_turn_before_the_next_model(on: BotHarness) -> None:
    vendors(on, balanced={"trySeconds": 39.0, "firstTokenSeconds": 39.0})
    clock = ShiftedClock()
    async with running(on, clock):
        failing = on.ms.fail(500, gate_after=BEFORE_HEADERS, when=OPENAI)
        silent = on.ms.gate("never", when=at("anthropic"))
        message = on.tg.say("hm")
        await failing.reached()
        clock.ahead = 5.0  # the turn ends before the next attempt
        failing.open()
        await silent.reached()
        clock.ahead = 40.0
        later(40.0)
        late = await on.tg.reply(message, after=message)
    assert late.text.startswith("⏱ Stopped at the 40 s limit.")
    assert late.text.endswith(f"↪ Tried before: {FIRST}: {DOWN}.")
    assert labels(late)[0] == "🔁 Retry"
    assert asked(on) == [FIRST, CLAUDE]
    assert await on.ms.last.finished() == "cut"
    assert facts(on)["timed_out"] == 1


async def test_no_time_for_the_next_model_is_reported(on: BotHarness) -> None:
    vendors(on)
    clock = ShiftedClock()
    async with running(on, clock):
        gate = on.ms.fail(500, gate_after=BEFORE_HEADERS, when=OPENAI)
        message = on.tg.say("hm")
        await gate.reached()
        clock.ahead = 38.5  # of 40 s
        gate.open()
        sorry = await on.tg.reply(message, after=message)
    assert sorry.text == (
        f"⚠️ {FIRST} can't be reached ({DOWN}). Your message is saved; /retry asks again.\n\n"
        "⏱ Stopped at the 40 s limit. Write “go on” to continue."
    )
    assert asked(on) == [FIRST]
    assert labels(sorry) == ["🔁 Retry", "🔁 Retry on smart"]
    assert (facts(on)["model"], facts(on)["timed_out"]) == ("", 1)


async def test_a_failure_before_the_deadline_is_not_a_timeout(on: BotHarness) -> None:
    vendors(on, "openai")
    on.ms.fail(400, when=OPENAI)
    async with running(on):
        assert "⏱" not in (await ask(on, "hm")).text
    assert facts(on)["timed_out"] == 0


async def test_thinking_time_is_shown_until_the_first_text(on: BotHarness) -> None:
    long = {"deadlineSeconds": 90.0, "trySeconds": 80.0, "firstTokenSeconds": 70.0}
    vendors(on, balanced=long, **{tier: {"deadlineSeconds": 100.0 + at} for at, tier in enumerate(TIERS[1:])})
    async with running(on):
        gate = on.ms.gate("At last.", when=OPENAI)
        message = on.tg.say("a hard one")
        await gate.reached()
        for seconds, since in ((10.0, 10), (5.0, 15), (45.0, 60)):
            later(seconds)
            await on.tg.wait_for(partial(thinks, since))
        gate.open()
        assert (await on.tg.reply(after=message)).text == "At last."
        assert on.tg.live_drafts() == []
        assert asked(on) == [FIRST]


def thinks(seconds: int, tg: TelegramServer) -> bool:
    """Whether the newest preview shows that this many seconds have passed, or more."""
    shown = re.fullmatch(r"💭 (\d+):(\d\d)", tg.drafts[-1].text) if tg.drafts else None
    return shown is not None and 60 * int(shown[1]) + int(shown[2]) >= seconds

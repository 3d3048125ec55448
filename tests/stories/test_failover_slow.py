"""A slow model is tried last, which is shown, until enough time has passed."""

from __future__ import annotations

import pytest

from routing.health.latency import COOLDOWN_SECONDS, MIN_TRIES
from tests.fakes import ShiftedClock
from tests.stories.harness import BotHarness, ask, running
from tests.stories.vendors import POOLS, asked, at, facts, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST, CLAUDE, GEMINI = POOLS["balanced"]


async def test_a_slow_model_is_tried_last_and_this_is_shown(on: BotHarness) -> None:
    vendors(on)
    clock = ShiftedClock()
    async with running(on, clock) as app:
        models = app.engine.models
        contract = models.config.contracts["balanced"]
        for _ in range(MIN_TRIES):
            models.health.record_duration(FIRST, contract, 0.65 * contract.deadline_seconds)
        answer = await ask(on, "hm")
        assert answer.text == f"You said: hm\n\n↪ {CLAUDE} answered: {FIRST} is slow right now."
        assert (facts(on)["model"], facts(on)["failed"], facts(on)["fallback"]) == (CLAUDE, "[]", 1)
        for command in ("/tier", "/status full"):
            shown = (await ask(on, command)).text
            assert f"{FIRST} is slow right now" in shown
            assert f"If it fails: {GEMINI}, {FIRST}." in shown
        assert (await ask(on, "!smart hm")).text == "You said: hm", "in another tier it was not slow"
        assert asked(on) == [CLAUDE, POOLS["smart"][0]]
    async with running(on, clock):
        assert (await ask(on, "hm")).text.endswith("is slow right now."), "a restart keeps the measurement"
        for vendor in ("anthropic", "gemini"):
            on.ms.fail(500, when=at(vendor))
        assert f"↪ {FIRST} answered: " in (await ask(on, "hm")).text, "last, but still used"
        clock.ahead = COOLDOWN_SECONDS + 1.0
        assert (await ask(on, "hm")).text == "You said: hm"
    assert asked(on)[2:] == [CLAUDE, CLAUDE, GEMINI, FIRST, FIRST]

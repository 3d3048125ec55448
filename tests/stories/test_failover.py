"""Which models are tried when one fails: now, in a cooldown, after a restart; and what the person sees."""

from __future__ import annotations

import re

import pytest

from tests.fakes import ShiftedClock
from tests.stories.harness import BotHarness, ask, previewing_early, running
from tests.stories.test_media import RED
from tests.stories.vendors import KEYS, POOLS, asked, assert_own_keys, at, facts, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST, CLAUDE, GEMINI = POOLS["balanced"]
OPENAI = at("openai")
DOWN = "The server had an error"
BLIND = {"id": "gpt-blind", "provider": "openai", "supportsVision": False}


def models_called_since(on: BotHarness, before: int) -> list[str]:
    """The models called after the first this many calls."""
    return asked(on)[before:]


async def test_retry_after_puts_a_model_into_cooldown(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(429, retry_after=30, when=OPENAI)
    clock = ShiftedClock()
    async with running(on, clock):
        reply = await ask(on, "hm")
        assert reply.text.endswith(f"↪ {CLAUDE} answered: {FIRST}: try again in 30 s.")
        assert asked(on) == [FIRST, CLAUDE], "at once, not after 30 s"
        first, second = on.ms.calls
        assert second.time - first.time < 20
        clock.ahead = 20.0
        assert (await ask(on, "hm")).text.endswith(f"↪ {CLAUDE} answered: {FIRST} asked for a pause.")
        assert models_called_since(on, 2) == [CLAUDE]
        assert "↪" not in (await ask(on, "!coding hm")).text, "another model of the same vendor has no cooldown"
        assert models_called_since(on, 3) == ["openai/gpt-5.2"]
    async with running(on, clock):
        await ask(on, "hm")
        assert models_called_since(on, 4) == [CLAUDE], "a restart keeps the cooldown"
        clock.ahead = 31.0
        assert (await ask(on, "hm")).text == "You said: hm"
        assert models_called_since(on, 5) == [FIRST]


async def test_if_all_models_are_in_cooldown_the_shortest_is_awaited(on: BotHarness) -> None:
    vendors(on)
    for vendor in KEYS:
        on.ms.fail(429, retry_after=1, when=at(vendor))
    async with running(on):
        assert (await ask(on, "hm")).text.startswith(f"⏳ {GEMINI} is busy")
        assert (await ask(on, "/retry")).text == "You said: hm"
    assert asked(on) == [FIRST, CLAUDE, GEMINI, FIRST]


async def test_the_wait_for_a_cooldown_is_shown(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    previewing_early(monkeypatch)
    vendors(on)
    now = [1_000_000.0]
    for vendor in KEYS:
        on.ms.fail(429, retry_after=2, when=at(vendor))
    async with running(on, clock=lambda: now[0]):
        await ask(on, "hm")
        message = on.tg.say("/retry")
        await on.tg.wait_for(lambda tg: any(f"⏳ {FIRST}: 2 s …" in draft.text for draft in tg.drafts))
        now[0] += 5
        assert (await on.tg.reply(message, after=message)).text == "You said: hm"


async def test_three_failures_open_the_breaker_which_survives_a_restart_and_is_probed(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(500, times=4, when=OPENAI)
    clock = ShiftedClock()
    line = f"↪ {CLAUDE} answered: {FIRST} is paused after repeated errors (it reported an error)."
    async with running(on, clock):
        for _ in range(3):
            assert (await ask(on, "hm")).text.endswith(f"↪ {CLAUDE} answered: {FIRST}: {DOWN}.")
        assert asked(on) == [FIRST, CLAUDE] * 3
        assert (await ask(on, "hm")).text.endswith(line)
        assert models_called_since(on, 6) == [CLAUDE]
        assert facts(on) | {"seconds": 0, "first_token_seconds": 0} == {
            **{"tier": "balanced", "model": CLAUDE, "failed": "[]", "fallback": 1, "timed_out": 0, "escalated": 0},
            **{"seconds": 0, "first_token_seconds": 0},
        }
    async with running(on, clock):
        assert (await ask(on, "hm")).text.endswith(line)
        assert models_called_since(on, 7) == [CLAUDE]
        clock.ahead = 61.0
        assert (await ask(on, "hm")).text.endswith(f"{FIRST}: {DOWN}."), "the probe failed"
        assert models_called_since(on, 8) == [FIRST, CLAUDE]
        clock.ahead += 61.0
        await ask(on, "hm")
        assert models_called_since(on, 10) == [CLAUDE], "twice as long"
        clock.ahead += 61.0
        assert (await ask(on, "hm")).text == "You said: hm"
        assert (await ask(on, "hm")).text == "You said: hm"
        assert models_called_since(on, 11) == [FIRST, FIRST]
    assert_own_keys(on)


async def test_the_breaker_opens_at_three_of_five_failures(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(500, times=2, when=OPENAI)
    async with running(on):
        for _ in range(4):
            await ask(on, "hm")
        assert models_called_since(on, 4) == [FIRST, FIRST]
        on.ms.fail(500, when=OPENAI)
        await ask(on, "hm")
        await ask(on, "hm")
    assert models_called_since(on, 6) == [FIRST, CLAUDE, CLAUDE]


async def test_one_probe_at_a_time_while_others_use_the_next_model(on: BotHarness) -> None:
    vendors(on, **{"balanced": {"firstTokenSeconds": 10.0}})
    on.env["BOT_ACCESS"] = "open"
    on.ms.fail(401, when=OPENAI)
    clock = ShiftedClock()
    async with running(on, clock):
        await ask(on, "hm")
        clock.ahead = 61.0
        gate = on.ms.gate("back again", when=OPENAI)
        mine = on.tg.say("probe")
        await gate.reached()
        for name in ("bob", "eve"):
            assert (await ask(on, "hm", user=name)).text.startswith(f"You said: hm\n\n↪ {CLAUDE} answered: {FIRST}")
        gate.open()
        assert (await on.tg.reply(mine, after=mine, matching="back again")).text == "back again"
    assert asked(on) == [FIRST, CLAUDE, FIRST, CLAUDE, CLAUDE]


async def test_tier_and_status_during_a_cooldown(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(401, when=OPENAI)
    async with running(on):
        on.tg.say("hm")
        assert (await on.tg.reply(matching="↪")).text.startswith("You said: hm")
        notice = await on.tg.reply(matching="🔑")
        assert notice.text.startswith("🔑 openai refused the key in OPENAI_API_KEY. ")
        assert KEYS["openai"] not in notice.text
        for command in ("/tier", "/status full"):
            shown = (await ask(on, command)).text
            assert re.search(rf"⚠️ Skipped for \d+ s: {FIRST} is paused after repeated errors", shown)
            assert f"Model: {CLAUDE}, reasoning medium (fallback)." in shown
            assert f"If it fails: {GEMINI}." in shown
        assert f"⚠️ {FIRST} failed" in shown
        assert "openai refused the key in OPENAI_API_KEY" in shown
        assert asked(on) == [FIRST, CLAUDE]
        on.env["OPENAI_API_KEY"] = "sk-test-openai-000000000001"
    async with running(on):
        assert f"Model: {FIRST}" in (await ask(on, "/tier")).text, "a new key closes the breaker"


async def test_a_chosen_model_without_a_key(on: BotHarness) -> None:
    vendors(on)
    async with running(on):
        await ask(on, f"/model balanced {CLAUDE}")
        assert (await ask(on, "hm")).text == "You said: hm"
    vendors(on, "openai", "gemini")
    async with running(on):
        assert (await ask(on, "hm")).text == (
            f"You said: hm\n\n↪ {FIRST} answered: {CLAUDE} has no key (ANTHROPIC_API_KEY)."
        )
    assert asked(on) == [CLAUDE, FIRST]


async def test_a_fallback_without_a_key_is_skipped_silently(on: BotHarness) -> None:
    vendors(on, "openai", "gemini")
    on.ms.fail(500, when=OPENAI)
    async with running(on):
        assert (await ask(on, "hm")).text == f"You said: hm\n\n↪ {GEMINI} answered: {FIRST}: {DOWN}."
        assert f"Skipped (no API key): {CLAUDE}." in (await ask(on, "/tier")).text


async def test_a_picture_goes_to_a_vision_model(on: BotHarness) -> None:
    vendors(on)
    on.knows(**{"gpt-blind": BLIND})
    async with running(on):
        await ask(on, "/model balanced openai/gpt-blind")
        message = on.tg.say_photo(RED, caption="What is this?")
        answer = await on.tg.reply(after=message)
        assert answer.text == f"You said: What is this?\n\n↪ {FIRST} answered: openai/gpt-blind can't see pictures."
        assert (await ask(on, "And now without?")).text == "You said: And now without?"
    assert asked(on) == [FIRST, "openai/gpt-blind"]


async def test_without_a_vision_model_the_text_is_answered_with_a_notice(on: BotHarness) -> None:
    vendors(on, "openai")
    on.knows(**{"gpt-blind": BLIND})
    on.env["TIER_BALANCED_POOL"] = "openai/gpt-blind"
    async with running(on):
        message = on.tg.say_photo(RED, caption="What is this?")
        assert "👁 openai/gpt-blind can't see pictures" in (await on.tg.reply(after=message)).text


async def test_too_long_for_the_chosen_model_falls_back_to_the_pool(on: BotHarness) -> None:
    vendors(on)
    on.ms.fail(400, code="context_length_exceeded", times=2, when=OPENAI)
    async with running(on):
        await ask(on, "/model balanced openai/gpt-4o-mini")
        answer = await ask(on, "hm")
    mini = "openai/gpt-4o-mini"
    assert answer.text.endswith(f"↪ {FIRST} answered: {mini}: the conversation is longer than its context window.")
    assert asked(on) == [mini, mini, FIRST]


async def test_failover_mid_turn_keeps_the_tool_results(on: BotHarness) -> None:
    vendors(on)
    on.ms.call_tools([("calculate", {"expression": "6*7"})], when=OPENAI)
    on.ms.fail(500, when=OPENAI)
    on.ms.reply("It is 42.", when=at("anthropic"))
    async with running(on):
        answer = await ask(on, "6 times 7?")
    assert answer.text == f"It is 42.\n\n↪ {CLAUDE} answered: {FIRST}: {DOWN}."
    assert asked(on) == [FIRST, FIRST, CLAUDE]
    assert "42" in on.ms.last.reading.tool_results[0].text


@pytest.mark.parametrize("wanted", ["on", "off"])
async def test_the_footer_can_be_hidden_but_a_fallback_is_shown(on: BotHarness, wanted: str) -> None:
    vendors(on)
    on.ms.fail(500, when=OPENAI)
    async with running(on):
        await ask(on, f"/settings footer {wanted}")
        answer = await ask(on, "hm")
    _, line, *rest = answer.text.split("\n\n")
    assert line == f"↪ {CLAUDE} answered: {FIRST}: {DOWN}."
    assert len(rest) == (wanted == "on")
    assert all(words.startswith(f"balanced · {CLAUDE} medium · ") for words in rest)

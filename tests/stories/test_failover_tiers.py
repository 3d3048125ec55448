"""When a tier's first model fails: which model answers, and what the person sees.

The next step after every kind of failure is a table in tests/routing/policy/test_failover.py, the reasons are one in
tests/routing/llm/test_error_mapping.py, the output limits one in tests/routing/config/test_contracts.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from routing.config.contracts import ALLOWANCE, DEFAULT_CONTRACTS
from routing.health.breaker import Trial
from routing.types.tiers import TIERS, Tier
from tests.fakes import ShiftedClock, later
from tests.servers.model import ModelServer
from tests.servers.model.script import Gate
from tests.stories.harness import BotHarness, previewing_early, running
from tests.stories.vendors import FIRST_TOKEN, POOLS, SOON, ask_tier, asked, at, facts, labels, vendors

pytestmark = pytest.mark.usefixtures("own_clients")

FIRST = at("openai")
EFFORT: dict[Tier, str] = {"balanced": "medium", "smart": "high", "coding": "medium", "deep": "xhigh"}
MAX_OUTPUT = 128_000
"""The most that gpt-5.2 can write, in the library's map."""
LATE = f"no first words within {FIRST_TOKEN:g} s"


def stalls_before_the_first_token(ms: ModelServer) -> Gate:
    return ms.reply("never", gate_after=0, when=FIRST)


def resets(ms: ModelServer) -> None:
    ms.reset(when=FIRST)


def fails(status: int, retry_after: float | None = None) -> Callable[[ModelServer], object]:
    return lambda ms: ms.fail(status, retry_after=retry_after, when=FIRST)


FAULTS = {
    "balanced": (stalls_before_the_first_token, LATE),
    "smart": (resets, "Connection error"),
    "coding": (fails(429, retry_after=30), "try again in 30 s"),
    "deep": (fails(500), "The server had an error"),
}
"""What the tier's first model does, and the reason shown to the person."""


def usual(tier: Tier) -> int:
    """Maximum output tokens of the tier's first model."""
    return DEFAULT_CONTRACTS[tier].max_output_tokens + ALLOWANCE[EFFORT[tier]]


def tokens(on: BotHarness) -> list[int | None]:
    return [call.reading.max_tokens for call in on.ms.calls]


@pytest.mark.parametrize("tier", TIERS)
async def test_the_next_model_answers_and_one_line_says_why(on: BotHarness, tier: Tier) -> None:
    play, reason = FAULTS[tier]
    vendors(on, **(SOON if reason == LATE else {}))
    gate, clock = play(on.ms), ShiftedClock()
    first, second = POOLS[tier][:2]
    async with running(on, clock):
        asking = asyncio.create_task(ask_tier(on, tier))
        if isinstance(gate, Gate) and reason == LATE:
            await gate.reached()
            clock.ahead = FIRST_TOKEN
            later(FIRST_TOKEN)
        answer = await asking
    assert answer.text == f"You said: hm\n\n↪ {second} answered: {first}: {reason}."
    assert labels(answer) == []
    assert asked(on) == [first, second]
    assert tokens(on) == [usual(tier), DEFAULT_CONTRACTS[tier].max_output_tokens + ALLOWANCE["medium"]]
    row = facts(on)
    assert (row["model"], row["failed"], row["fallback"]) == (second, json.dumps([first]), 1)
    first_token = row["first_token_seconds"]
    assert (row["timed_out"], row["escalated"]) == (0, 0)
    assert isinstance(first_token, float)
    assert first_token >= FIRST_TOKEN or reason != LATE, "the first model's time is included"


@pytest.mark.parametrize(("abrupt", "tier"), [(False, "balanced"), (True, "deep")])
async def test_a_break_after_two_chunks_keeps_the_text_and_never_switches(
    on: BotHarness, tier: Tier, abrupt: bool
) -> None:
    vendors(on)
    on.ms.truncate(after_chunks=2, text="one two three four", chunks=4, abrupt=abrupt, when=FIRST)
    async with running(on):
        cut = await ask_tier(on, tier)
        assert cut.text.startswith("one two")
        assert "✂️ The provider cut the answer off here" in cut.text
        assert "↪" not in cut.text
        assert asked(on) == [POOLS[tier][0]]
        higher = {"balanced": ["🔁 Retry on smart"], "deep": []}.get(tier, ["🔁 Retry on deep"])
        assert labels(cut) == ["▶ Continue", "🔁 Retry", *higher]
        assert (facts(on)["model"], facts(on)["fallback"], facts(on)["timed_out"]) == (POOLS[tier][0], 0, 0)
        on.ms.reply("three four")
        on.tg.press("▶ Continue", message=cut)
        assert (await on.tg.reply(after=cut)).text == "three four"
        turns = [turn for turn in on.ms.last.reading.turns if turn[0] != "system"]
        assert turns == [("user", "hm"), ("assistant", "one two t"), ("user", "go on")]


async def test_a_stall_after_the_first_token_keeps_the_text(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    tier: Tier = "smart"
    previewing_early(monkeypatch)
    times = {"trySeconds": FIRST_TOKEN, "firstTokenSeconds": FIRST_TOKEN}
    vendors(on, **dict.fromkeys(TIERS, times))
    on.ms.reply("one two three four", chunks=4, gate_after=2, when=FIRST)
    async with running(on):
        asking = asyncio.create_task(ask_tier(on, tier))
        await on.tg.wait_for(lambda tg: any("one two t" in draft.text for draft in tg.drafts))
        later(FIRST_TOKEN)
        cut = await asking
    assert cut.text.startswith("one two t\n\n✂️ Stopped at the")
    assert asked(on) == [POOLS[tier][0]]
    assert labels(cut)[0] == "▶ Continue"
    assert facts(on)["timed_out"] == 1


async def test_thinking_counts_as_the_first_token(on: BotHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    tier: Tier = "coding"
    vendors(on, **SOON)
    thinking = asyncio.Event()
    monkeypatch.setattr(Trial, "first_token", lambda trial: thinking.set())
    gate = on.ms.reasoning("Let me think about it.", "hi", chunks=8, gate_after=4, when=FIRST)
    async with running(on):
        asking = asyncio.create_task(ask_tier(on, tier))
        await thinking.wait()
        later(FIRST_TOKEN)
        gate.open()
        assert (await asking).text == "hi"
    assert asked(on) == [POOLS[tier][0]]


@pytest.mark.parametrize("tier", ["smart", "deep"])
async def test_an_empty_answer_is_retried_then_fails_over(on: BotHarness, tier: Tier) -> None:
    vendors(on)
    on.ms.empty(times=2, when=FIRST)
    first, second = POOLS[tier][:2]
    async with running(on):
        answer = await ask_tier(on, tier)
    if DEFAULT_CONTRACTS[tier].attempts == 2:
        assert answer.text.startswith(f"⚠️ {first} gave an empty answer twice.")
        assert "🔁 Retry" in labels(answer)
        assert asked(on) == [first, first]
        assert facts(on)["model"] == ""
    else:
        assert answer.text == f"You said: hm\n\n↪ {second} answered: {first}: it gave an empty answer."
        assert asked(on) == [first, first, second]


async def test_cut_off_without_text_doubles_the_output_limit(on: BotHarness) -> None:
    tier: Tier = "deep"
    vendors(on)
    on.ms.length_cut(when=FIRST)
    async with running(on):
        assert (await ask_tier(on, tier)).text == "You said: hm"
    assert asked(on) == [POOLS[tier][0]] * 2
    doubled = DEFAULT_CONTRACTS[tier].max_output_tokens + 2 * ALLOWANCE[EFFORT[tier]]
    assert tokens(on) == [usual(tier), min(doubled, MAX_OUTPUT)]
    assert (facts(on)["fallback"], facts(on)["failed"]) == (0, "[]")


@pytest.mark.parametrize("tier", ["coding", "deep"])
async def test_cut_off_without_text_twice_fails_over(on: BotHarness, tier: Tier) -> None:
    vendors(on)
    on.ms.length_cut(times=2, when=FIRST)
    first, second = POOLS[tier][:2]
    async with running(on):
        answer = await ask_tier(on, tier)
    if DEFAULT_CONTRACTS[tier].attempts == 2:
        assert "gave an empty answer twice" in answer.text
        assert labels(answer)[0] == "🔁 Retry"
        assert asked(on) == [first, first]
    else:
        assert (
            answer.text == f"You said: hm\n\n↪ {second} answered: {first}: reached its length limit without an answer."
        )
        assert asked(on) == [first, first, second]


async def test_cut_off_text_is_kept_and_can_be_continued(on: BotHarness) -> None:
    tier: Tier = "balanced"
    vendors(on)
    on.ms.length_cut("as far as", when=FIRST)
    async with running(on):
        cut = await ask_tier(on, tier)
    assert cut.text.startswith("as far as\n\n✂️ The answer stops here")
    assert labels(cut)[0] == "▶ Continue"
    assert asked(on) == [POOLS[tier][0]]


@pytest.mark.parametrize(("code", "tier"), [("content_policy_violation", "balanced"), ("content_filter", "coding")])
async def test_a_policy_refusal_does_not_fail_over(on: BotHarness, tier: Tier, code: str) -> None:
    vendors(on)
    on.ms.fail(400, code=code, when=FIRST)
    async with running(on):
        sorry = await ask_tier(on, tier)
    assert sorry.text.startswith(f"🛑 {POOLS[tier][0]} declined this because of its content rules")
    assert asked(on) == [POOLS[tier][0]]
    assert labels(sorry)[0] == "🔁 Retry"
    assert (facts(on)["model"], facts(on)["failed"]) == ("", "[]")


async def test_an_overflow_shortens_the_prompt_once(on: BotHarness) -> None:
    tier: Tier = "balanced"
    vendors(on)
    on.ms.fail(400, code="context_length_exceeded", when=FIRST)
    async with running(on):
        assert (await ask_tier(on, tier)).text == "You said: hm"
    assert asked(on) == [POOLS[tier][0]] * 2


@pytest.mark.parametrize("tier", ["smart", "deep"])
async def test_a_second_overflow_moves_to_a_larger_window(on: BotHarness, tier: Tier) -> None:
    vendors(on)
    on.ms.fail(400, code="context_length_exceeded", times=2, when=FIRST)
    first, claude, *_ = POOLS[tier]
    async with running(on):
        answer = await ask_tier(on, tier)
    if tier == "deep":  # it has no third attempt
        assert answer.text.startswith(f"⚠️ This is too long for {first}.")
        assert asked(on) == [first, first]
        return
    reason = "the conversation is longer than its context window"
    assert answer.text == f"You said: hm\n\n↪ {claude} answered: {first}: {reason}."
    assert asked(on) == [first, first, claude]


async def test_all_models_fail(on: BotHarness) -> None:
    tier: Tier = "balanced"
    vendors(on)
    on.ms.fail(500, times=9, when=lambda request: not request.embeds)
    first, *others = POOLS[tier]
    async with running(on):
        sorry = await ask_tier(on, tier)
        assert sorry.text.startswith(f"⚠️ {others[-1]} can't be reached (The server had an error).")
        assert f"↪ Tried before: {first}: The server had an error" in sorry.text
        assert asked(on) == [first, *others]
        assert "🔁 Retry" in labels(sorry)
        row = facts(on)
        assert (row["model"], row["failed"], row["fallback"]) == (
            "",
            json.dumps([first, *others[:-1]], separators=(",", ":")),
            1,
        )
        on.ms.clear()
        on.tg.press("🔁 Retry", message=sorry)
        assert (await on.tg.reply(after=sorry)).text.startswith("You said: hm")


async def test_attempts_and_length_follow_the_contract(on: BotHarness) -> None:
    tier: Tier = "smart"
    vendors(on, **{tier: {"attempts": 1, "maxOutputTokens": 500}})
    on.ms.fail(500, when=FIRST)
    async with running(on):
        assert (await ask_tier(on, tier)).text.startswith(f"⚠️ {POOLS[tier][0]} can't be reached")
    assert asked(on) == [POOLS[tier][0]]
    assert tokens(on) == [500 + ALLOWANCE[EFFORT[tier]]]

"""Hundreds of concurrent turns, many with a fault, on an event loop with simulated time."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from benchmarks.failover.call_counter import CallCounter
from benchmarks.failover.concurrency import pools, what
from benchmarks.failover.faults import FAULTS, Plan, Scripted, draw_plan, text_of
from benchmarks.failover.turns import TIER, VENDORS, Line, TurnRunner, models
from routing.config.sections import ConcurrencyLimits
from routing.errors import KeyRejected
from routing.health.breakers import fingerprint
from routing.health.health import ModelHealth
from routing.policy.models import Models
from routing.types.model_names import provider_of
from routing.types.stop import Stop
from routing.types.turns import Outcome
from tests.routing.simulated_time import run_instantly

PER_PROVIDER, PER_USER = ConcurrencyLimits().per_provider, ConcurrencyLimits().per_user

TURNS = 200
PAUSE = 0.25
"""Seconds before each piece of an answer."""
NEVER: Plan = dict.fromkeys(range(TURNS), ("no first token",))
WELL: Plan = dict.fromkeys(range(TURNS), ())
T = TypeVar("T")


def hurried(work: Coroutine[Any, Any, T]) -> T:
    random.seed(1)  # the pause before a second try is drawn
    return run_instantly(work)


@dataclass
class Crowd:
    """Turns of different people that share one health state; the clock is the loop's."""

    plan: Plan
    pools: Sequence[Sequence[str]] = field(default_factory=lambda: pools(1))
    seconds: Mapping[str, float] = field(default_factory=dict)
    stops: Mapping[int, Stop] = field(default_factory=lambda: {number: Stop() for number in range(TURNS)})

    def __post_init__(self) -> None:
        self.health = ModelHealth(clock)
        self.llm = CallCounter(Scripted(self.plan, PAUSE), self.health)
        self.runner = TurnRunner(self.llm, self.health, clock)
        self.models = [models(self.health, pool=pool, seconds=self.seconds, clock=clock) for pool in self.pools]

    def of(self, number: int) -> Models:
        return self.models[number % len(self.models)]

    async def turn(self, number: int) -> tuple[Outcome, Line, float]:
        """A turn: its outcome, its deadline, and its seconds without those in a queue."""
        began = clock()
        outcome, line = await self.runner.turn(self.of(number), text_of(number), number, self.stops[number])
        return outcome, line, clock() - began - line.in_line

    def begin(self) -> list[asyncio.Task[tuple[Outcome, Line, float]]]:
        return [asyncio.create_task(self.turn(number)) for number in self.plan]

    async def every_slot_is_free(self) -> None:
        """Every slot is free at the same time, at every provider and for every person."""
        began, slot = clock(), self.health.parallel.slot
        for vendor in VENDORS:
            for number in range(PER_PROVIDER):
                await slot(vendor, -1 - number).__aenter__()
        for person in range(TURNS):
            for _ in range(PER_USER):
                await slot(f"of {person}", person).__aenter__()
        assert clock() == began


def clock() -> float:
    return 1_000_000.0 + asyncio.get_running_loop().time()


@pytest.mark.parametrize("among", [1, 20, TURNS])
@pytest.mark.parametrize("seed", range(3))
def test_no_turn_is_lost_or_late(seed: int, among: int) -> None:
    async def story() -> Counter[str]:
        crowd = Crowd(draw_plan(TURNS, seed=seed), pools(among))
        ended = await asyncio.gather(*crowd.begin())
        contract = crowd.of(0).config.contracts[TIER]
        assert len(ended) == TURNS
        assert [what(outcome) for outcome, _, _ in ended if what(outcome)[0] == "lost"] == []
        assert max(seconds for _, _, seconds in ended) <= contract.deadline_seconds
        assert max(crowd.llm.tries.values()) <= contract.attempts
        assert crowd.llm.most_probes <= 1
        assert crowd.llm.busy == 0
        await crowd.every_slot_is_free()
        return Counter(what(outcome)[0] for outcome, _, _ in ended)

    found = hurried(story())
    assert found["answer"]
    assert found["failure"]
    if among == TURNS:
        assert found["partial"]
        assert found["answer"] > 0.8 * TURNS


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_each_is_retried_or_reported(fault: str) -> None:
    """No two turns share a model, so no turn suffers from another's fault."""

    async def story() -> set[tuple[str, str, int, str]]:
        crowd = Crowd(dict.fromkeys(range(TURNS), (fault,)), pools(TURNS))
        ended = [outcome for outcome, _, _ in await asyncio.gather(*crowd.begin())]
        tries = crowd.llm.tries
        return {(*what(done), tries[number], provider_of(done.choice.model)) for number, done in enumerate(ended)}

    expected = {
        "content policy": ("failure", "PolicyRefused", 1, "openai"),
        "break after two chunks": ("partial", "cut", 1, "openai"),
        **dict.fromkeys(("empty", "length"), ("answer", "stop", 2, "openai")),
    }
    assert hurried(story()) == {expected.get(fault, ("answer", "stop", 2, "anthropic"))}


@pytest.mark.parametrize(("one_try", "tries", "ends"), [(3.0, 3, 9.0), (6.0, 2, 10.0), (8.5, 1, 8.5)])
def test_silent_models_take_no_more_than_the_deadline(one_try: float, tries: int, ends: float) -> None:
    async def story() -> None:
        seconds = {"deadlineSeconds": 10.0, "trySeconds": one_try, "firstTokenSeconds": one_try}
        crowd = Crowd(dict.fromkeys(range(TURNS), ("no first token",) * 3), pools(TURNS), seconds)
        ended = await asyncio.gather(*crowd.begin())
        assert {round(seconds, 6) for _, _, seconds in ended} == {ends}
        assert set(crowd.llm.tries.values()) == {tries}

    hurried(story())


@pytest.mark.parametrize(
    ("members", "rest", "probes", "asked"),
    [
        (3, 61.0, 1, {"openai": 1, "anthropic": TURNS - 1}),
        (3, 1.0, 0, {"anthropic": TURNS}),
        (1, 61.0, 1, {"openai": TURNS}),
        (1, 1.0, 1, {"openai": TURNS}),
    ],
    ids=["due", "not due", "due and alone", "not due and alone"],
)
def test_one_probe_runs_and_all_turns_are_answered(
    members: int, rest: float, probes: int, asked: dict[str, int]
) -> None:
    async def story() -> None:
        crowd = Crowd(WELL, [pools(1)[0][:members]])
        first = crowd.pools[0][0]
        broken = crowd.health.breakers.of(first, fingerprint(crowd.of(0).config.profile("openai")))
        trial = broken.begin()
        assert trial is not None
        trial.end(KeyRejected(first, "no"))
        await asyncio.sleep(rest)
        turns = crowd.begin()
        await asyncio.sleep(PAUSE / 2)
        assert crowd.llm.probes == crowd.llm.most_probes == probes
        ended = [outcome for outcome, _, _ in await asyncio.gather(*turns)]
        assert {what(outcome) for outcome in ended} == {("answer", "stop")}
        assert crowd.llm.probes == probes
        assert broken.status().state == ("closed" if probes else "open")
        assert Counter(provider_of(outcome.choice.model) for outcome in ended) == asked

    hurried(story())


def test_a_turn_stopped_or_cancelled_in_the_queue_frees_its_slot() -> None:
    async def story() -> None:
        crowd = Crowd(NEVER, pools(TURNS))
        turns = crowd.begin()
        await asyncio.sleep(PAUSE)
        assert crowd.llm.busy == PER_PROVIDER
        assert crowd.health.parallel.waiting("openai") == TURNS - PER_PROVIDER
        for number in range(0, TURNS, 3):
            crowd.stops[number].request()
            turns[number + 1].cancel()
        left = [turn for number, turn in enumerate(turns) if number % 3 == 2]
        await asyncio.sleep(PAUSE)
        assert all(turn.done() for turn in turns if turn not in left)
        assert {what(turn.result()[0]) for turn in turns[::3]} == {("failure", "stopped")}
        assert {turn.cancelling() for turn in turns[::3]} == {0}
        assert crowd.llm.busy == PER_PROVIDER, "later turns took the slots"
        ended = await asyncio.gather(*left)
        assert {what(outcome) for outcome, _, _ in ended} == {("answer", "stop")}
        await crowd.every_slot_is_free()

    hurried(story())


def test_a_turn_that_never_ends_is_detected() -> None:
    with pytest.raises(AssertionError, match="for ever"):
        hurried(asyncio.Event().wait())


def test_waiting_for_a_probe_uses_no_slot_of_a_healthy_model() -> None:
    async def story() -> None:
        plan = {0: ("no first token",), **{number: () for number in range(1, 9)}}
        crowd = Crowd(plan, [["openai/broken"]] * 8 + [["openai/healthy"]])
        trial = crowd.health.breakers.of("openai/broken", fingerprint(crowd.of(0).config.profile("openai"))).begin()
        assert trial is not None
        trial.end(KeyRejected("openai/broken", "no"))
        ended = await asyncio.gather(*crowd.begin())
        assert {what(outcome) for outcome, _, _ in ended} == {("answer", "stop")}
        assert ended[8][1].in_line == 0.0

    hurried(story())


def test_a_silent_only_model_is_probed_once_for_all() -> None:
    async def story() -> None:
        crowd = Crowd(dict.fromkeys(range(TURNS), ("no first token",) * 3), [["openai/1"]])
        ended = await asyncio.gather(*crowd.begin())
        assert {what(outcome) for outcome, _, _ in ended} == {("failure", "TooSlow")}
        assert sum(crowd.llm.tries.values()) == PER_PROVIDER + 1, "those who had a place, and one probe"
        patience = crowd.of(0).config.contracts[TIER].first_token_seconds
        assert max(seconds + line.in_line for _, line, seconds in ended) <= 2 * patience + 1.0

    hurried(story())


def test_a_model_in_cooldown_uses_no_attempt() -> None:
    """Four models, three attempts: the first three refuse their key while most turns wait in a queue."""

    async def story() -> Counter[str]:
        crowd = Crowd(dict.fromkeys(range(PER_PROVIDER), ("401",) * 3) | dict.fromkeys(range(PER_PROVIDER, TURNS), ()))
        pool = ("openai/1", "anthropic/2", "gemini/3", "anthropic/4")
        crowd.models = [models(crowd.health, pool=pool, clock=clock)]
        return Counter(what(outcome)[0] for outcome, _, _ in await asyncio.gather(*crowd.begin()))

    assert hurried(story()) == {"failure": PER_PROVIDER, "answer": TURNS - PER_PROVIDER}

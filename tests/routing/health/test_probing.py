"""Fifty concurrent turns: exactly one probes, and each gets an answer or a reason."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from routing.errors import ModelError, Unreachable
from routing.health.breakers import Breakers
from routing.policy.candidates import Member, Needs, candidates
from tests.routing.health.breakers import REFUSED, Time, tried

TURNS = 50


class Provider:
    """Models that answer when they are released; `fails` is the error of the broken one."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.fails: list[ModelError | None] = []
        self.asked: Counter[str] = Counter()
        self.busy = self.most = 0

    async def ask(self, model: str) -> str:
        self.asked[model] += 1
        if model != "a/broken":
            return model
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await self.go.wait()
        finally:
            self.busy -= 1
        error = self.fails.pop(0) if self.fails else None
        if error is not None:
            raise error
        return model


class ModelPool:
    """A pool with breakers, and a minimal turn."""

    def __init__(self, *pool: str) -> None:
        self.time = Time()
        self.breakers = Breakers(self.time)
        self.provider = Provider()
        self.pool = pool
        tried(self.breakers.of("a/broken", "k"), REFUSED)

    async def turn(self) -> str:
        while True:
            statuses = {model: self.breakers.status(model, "k") for model in self.pool}
            members = [Member(model, True, True, True, 9, breaker=statuses[model]) for model in self.pool]
            found = candidates(members, Needs(), self.time())
            for model in found.order:
                trial = self.breakers.of(model, "k").begin(early=found.last_resort)
                if trial is None:
                    continue
                with trial:
                    answer = await self.provider.ask(model)
                    trial.end()
                return answer
            error = await self.breakers.of(found.order[0], "k").probed()
            if error is not None:
                raise error


async def settle() -> None:
    """Wait until all turns wait."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_one_caller_probes_and_the_others_use_the_next_model() -> None:
    models = ModelPool("a/broken", "b/2")
    models.time.now += 60.0
    turns = [asyncio.create_task(models.turn()) for _ in range(TURNS)]
    await settle()
    assert models.provider.asked == {"a/broken": 1, "b/2": TURNS - 1}
    models.provider.go.set()
    assert Counter(await asyncio.gather(*turns)) == {"a/broken": 1, "b/2": TURNS - 1}
    assert await models.turn() == "a/broken", "the probe closed it"


async def test_no_probe_before_its_time_while_another_model_answers() -> None:
    models = ModelPool("a/broken", "b/2")
    models.time.now += 59.0
    assert Counter([await models.turn() for _ in range(TURNS)]) == {"b/2": TURNS}


async def test_a_single_model_is_probed_early_and_serves_all_when_it_answers() -> None:
    models = ModelPool("a/broken")
    turns = [asyncio.create_task(models.turn()) for _ in range(TURNS)]
    await settle()
    assert models.provider.asked == {"a/broken": 1}
    models.provider.go.set()
    assert await asyncio.gather(*turns) == ["a/broken"] * TURNS
    assert models.provider.asked["a/broken"] == TURNS


async def test_a_single_broken_models_failure_is_shared_by_all() -> None:
    models = ModelPool("a/broken")
    before = models.breakers.status("a/broken", "k")
    models.provider.fails = [Unreachable("a/broken", "still down")]
    turns = [asyncio.create_task(models.turn()) for _ in range(TURNS)]
    await settle()
    models.provider.go.set()
    answers = await asyncio.gather(*turns, return_exceptions=True)
    assert {str(each) for each in answers} == {"a/broken: still down"}
    assert len(answers) == TURNS
    assert models.provider.asked == {"a/broken": 1}
    assert models.provider.most == 1
    assert models.breakers.status("a/broken", "k") == before


@pytest.mark.parametrize("early", [False, True])
async def test_a_cancelled_turn_makes_room_for_another_probe(early: bool) -> None:
    models = ModelPool("a/broken")
    models.time.now += 0.0 if early else 60.0
    turns = [asyncio.create_task(models.turn()) for _ in range(TURNS)]
    for gone in range(3):
        await settle()
        assert models.provider.asked == {"a/broken": gone + 1}
        turns[gone].cancel()
    await settle()
    models.provider.go.set()
    answers = await asyncio.gather(*turns, return_exceptions=True)
    assert [isinstance(each, asyncio.CancelledError) for each in answers[:3]] == [True] * 3
    assert answers[3:] == ["a/broken"] * (TURNS - 3)


async def test_a_cancelled_waiter_does_not_affect_others() -> None:
    models = ModelPool("a/broken")
    turns = [asyncio.create_task(models.turn()) for _ in range(TURNS)]
    await settle()
    for waiting in turns[1::2]:
        waiting.cancel()
    await settle()
    models.provider.go.set()
    answers = await asyncio.gather(*turns, return_exceptions=True)
    assert answers[::2] == ["a/broken"] * (TURNS // 2)

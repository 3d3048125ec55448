"""Concurrency limits: how many calls at once, in which order, and what a cancelled one leaves behind."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from routing.config import jsonfile
from routing.config.sections import ConcurrencyLimits
from routing.errors import ConfigError
from routing.health.concurrency import ConcurrencyLimiter
from tests.routing.health.breakers import Time


class Calls:
    """Calls by name that last until they are released."""

    def __init__(self, per_provider: int, per_user: int) -> None:
        self.time = Time()
        self.parallel = ConcurrencyLimiter(self.time, ConcurrencyLimits(per_provider, per_user))
        self.inside: list[str] = []
        self.begun: list[str] = []
        self.waited: dict[str, float] = {}
        self._go: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, provider: str = "a", person: int = 0) -> None:
        self._go[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, provider, person))
        await self.settle()

    async def _run(self, name: str, provider: str, person: int) -> None:
        async with self.parallel.slot(provider, person) as waited:
            self.waited[name] = waited
            self.begun.append(name)
            self.inside.append(name)
            try:
                await self._go[name].wait()
            finally:
                self.inside.remove(name)

    async def end(self, *names: str) -> None:
        for name in names:
            self._go[name].set()
        await self.settle()

    async def cancel(self, name: str) -> None:
        self.tasks[name].cancel()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_calls_above_the_provider_limit_wait_in_order() -> None:
    calls = Calls(2, 9)
    for person, name in enumerate("abcdef"):
        await calls.start(name, person=person)
    assert calls.inside == ["a", "b"]
    assert calls.parallel.waiting("a") == 4
    await calls.start("other", provider="b")
    assert "other" in calls.inside
    assert calls.parallel.waiting("b") == 0
    await calls.end("b", "a", "other")
    assert calls.inside == ["c", "d"]
    await calls.end("c", "d", "e", "f")
    assert calls.begun == ["a", "b", "other", "c", "d", "e", "f"]


async def test_one_person_cannot_use_the_slots_of_others() -> None:
    calls = Calls(3, 2)
    for name in ("a1", "a2", "a3", "a4"):
        await calls.start(name, person=1)
    await calls.start("b1", person=2)
    assert calls.inside == ["a1", "a2", "b1"], "who waits for their own limit holds no place of the provider"
    await calls.start("c1", provider="b", person=1)
    assert "c1" not in calls.inside, "a person's limit is over all providers"
    await calls.end("a1")
    assert calls.inside == ["a2", "b1", "a3"]


async def test_a_persons_many_calls_do_not_delay_others() -> None:
    calls = Calls(2, 2)
    for name, person in (("a1", 1), ("a2", 1), ("a3", 1), ("a4", 1), ("b1", 2), ("b2", 2), ("c1", 3)):
        await calls.start(name, person=person)
    assert calls.inside == ["a1", "a2"]
    await calls.end("a1", "a2", "b1", "b2", "c1", "a3", "a4")
    assert calls.begun[2:5] == ["b1", "b2", "c1"]
    assert calls.begun[5:] == ["a3", "a4"]


async def test_the_queueing_time_is_reported() -> None:
    calls = Calls(1, 1)
    await calls.start("a")
    await calls.start("b", person=1)
    await calls.start("c", person=1, provider="b")
    calls.time.now += 7.0
    await calls.end("a")
    calls.time.now += 5.0
    await calls.end("b")
    assert calls.waited == {"a": 0.0, "b": 7.0, "c": 12.0}


@pytest.mark.parametrize("person", [0, 1], ids=["waits for a person's place", "waits for a provider's"])
async def test_a_cancelled_caller_leaves_the_queue(person: int) -> None:
    calls = Calls(1, 1)
    await calls.start("a")
    await calls.start("b", person=person)
    await calls.start("c", person=person)
    await calls.cancel("b")
    assert calls.tasks["b"].cancelled()
    assert calls.inside == ["a"]
    await calls.end("a")
    assert calls.inside == ["c"]
    await calls.end("c")
    await calls.start("d", person=person)
    assert calls.inside == ["d"]


@pytest.mark.parametrize("person", [0, 1])
async def test_a_caller_cancelled_on_admission_passes_its_slot_on(person: int) -> None:
    calls = Calls(1, 1)
    async with calls.parallel.slot("a", 0):
        await calls.start("b", person=person)
        await calls.start("c", person=2)
    await calls.cancel("b")
    assert calls.inside == ["c"]
    assert "b" not in calls.waited


async def test_a_failed_or_cancelled_call_releases_its_slots() -> None:
    calls = Calls(1, 1)
    await calls.start("a")
    await calls.cancel("a")
    with pytest.raises(RuntimeError, match="x"):
        async with calls.parallel.slot("a", 0):
            raise RuntimeError("x")
    await calls.start("b")
    assert calls.inside == ["b"]


async def test_concurrent_calls_are_all_served_within_the_limit() -> None:
    parallel = ConcurrencyLimiter(Time(), ConcurrencyLimits(8, 3))
    people: Counter[int] = Counter()
    providers: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def call(number: int) -> None:
        person, provider = number % 7, "ab"[number % 2]
        async with parallel.slot(provider, person):
            people[person] += 1
            providers[provider] += 1
            most["person"] = max(most["person"], people[person])
            most["provider"] = max(most["provider"], providers[provider])
            try:
                await asyncio.sleep(0)
            finally:
                people[person] -= 1
                providers[provider] -= 1

    tasks = [asyncio.create_task(call(number)) for number in range(1_000)]
    await asyncio.sleep(0)
    for task in tasks[::5]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(each is None for number, each in enumerate(results) if number % 5)
    assert most == {"person": 3, "provider": 8}
    assert (parallel._people._queues, parallel._providers._queues) == ({}, {}), "empty queues are deleted"


def test_the_limits_are_read_from_the_file() -> None:
    root = jsonfile.parse('{"parallel": {"perProvider": 2}, "bad": {"perUser": 0}}', "x.json").root()
    assert root.section("parallel").fill(ConcurrencyLimits()) == ConcurrencyLimits(2, 3)
    with pytest.raises(ConfigError, match=r"bad\.perUser"):
        root.section("bad").fill(ConcurrencyLimits())


async def test_changed_limits_apply_to_new_queues() -> None:
    calls = Calls(1, 5)
    await calls.start("first", "a", 1)
    calls.parallel.limit(ConcurrencyLimits(2, 5))
    await calls.start("second", "a", 2)
    assert calls.inside == ["first"]
    assert calls.parallel.queued == {"a": 1}, "this queue is older than the change"
    for name in ("third", "fourth"):
        await calls.start(name, "b", 3)
    assert calls.inside == ["first", "third", "fourth"]
    assert calls.parallel.queued == {"a": 1}
    for name in ("first", "second", "third", "fourth"):
        await calls.end(name)

"""What is known about a model before a call, and what survives a restart."""

from __future__ import annotations

import asyncio
import time

import pytest

from bot.observability.health_persistence import STATE_KEY, HealthPersistence
from routing.config.contracts import DEFAULT_CONTRACTS
from routing.errors import BadModelRequest, KeyRejected, ModelError, PolicyRefused, RateLimited, Unreachable
from routing.health.breaker import Trial
from routing.health.health import ModelHealth
from routing.health.latency import MIN_TRIES
from routing.types.llm import ProviderProfile
from tests.routing.health.breakers import DOWN, REFUSED, Time

MODEL = "a/1"
TURNS = 50
WAY = ProviderProfile("a", "openai", None, "key-1", 30.0, "A_API_KEY")
OTHER_WAY = ProviderProfile("a", "openai", None, "key-2", 30.0, "A_API_KEY")


async def begun(health: ModelHealth, model: str, way: ProviderProfile, probe: bool) -> Trial:
    """Begins like the caller: after waiting for another call's probe, it asks again."""
    while (trial := await health.begin(model, way, probe)) is None:
        await health.probed(model, way)
    return trial


async def fails(health: ModelHealth, *errors: ModelError, way: ProviderProfile = WAY, probe: bool = False) -> None:
    """One attempt after another, as a caller makes them."""
    for error in errors:
        with pytest.raises(type(error)), await begun(health, MODEL, way, probe):
            raise error
        health.record_failure(error)


async def answers(health: ModelHealth, probe: bool = False) -> None:
    with await begun(health, MODEL, WAY, probe) as trial:
        trial.end()


def state(health: ModelHealth, way: ProviderProfile = WAY) -> str:
    return health.of(MODEL, way, "balanced").breaker.state


async def test_three_failures_in_a_row_open_the_breaker_for_a_minute() -> None:
    clock = Time()
    health = ModelHealth(clock)
    await fails(health, DOWN, DOWN)
    assert state(health) == "closed"
    await fails(health, DOWN)
    status = health.of(MODEL, WAY, "balanced").breaker
    assert (status.state, status.until, status.why) == ("open", clock.now + 60.0, "it is down")
    with pytest.raises(Unreachable, match="it is down"):
        await begun(health, MODEL, WAY, probe=False)
    clock.now += 60.0
    await answers(health)
    assert state(health) == "closed"


async def test_an_answer_in_between_resets_the_count() -> None:
    health = ModelHealth(Time())
    await fails(health, DOWN, DOWN)
    for _ in range(4):
        await answers(health)
    await fails(health, DOWN, DOWN)
    assert state(health) == "closed"


async def test_a_refused_key_opens_at_once_and_a_new_key_resets() -> None:
    health = ModelHealth(Time())
    await fails(health, REFUSED)
    assert (state(health), state(health, OTHER_WAY)) == ("open", "closed")
    with await begun(health, MODEL, OTHER_WAY, probe=False) as trial:
        trial.end()


async def test_the_users_errors_do_not_count() -> None:
    health = ModelHealth(Time())
    await fails(health, *[PolicyRefused(MODEL, "no"), BadModelRequest(MODEL, "no")] * 5)
    assert state(health) == "closed"


async def test_a_retry_after_applies_to_all_including_probes() -> None:
    clock = Time()
    health = ModelHealth(clock)
    await fails(health, RateLimited(MODEL, "busy", 30.0))
    assert health.of(MODEL, WAY, "balanced").cooldown == clock.now + 30.0
    clock.now += 29.9
    for probe in (False, True):
        with pytest.raises(RateLimited, match="try again in") as refused:
            await begun(health, MODEL, WAY, probe)
        assert refused.value.retry_after == pytest.approx(0.1)
    clock.now += 0.2
    await answers(health)


async def test_a_short_cooldown_is_waited_for_without_alternatives() -> None:
    health = ModelHealth(time.time)
    health.record_failure(RateLimited(MODEL, "busy", 0.1))
    with pytest.raises(RateLimited):
        await begun(health, MODEL, WAY, probe=False)
    await answers(health, probe=True)


async def test_fifty_callers_make_one_probe_and_share_its_failure() -> None:
    health = ModelHealth(Time())
    await fails(health, REFUSED)
    go, probes = asyncio.Event(), 0

    async def turn() -> None:
        nonlocal probes
        with await begun(health, MODEL, WAY, probe=True):
            probes += 1
            await go.wait()
            raise KeyRejected(MODEL, "still refused", 7.0)

    turns = [asyncio.create_task(turn()) for _ in range(TURNS)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert probes == 1
    assert state(health) == "probing"
    go.set()
    errors = await asyncio.gather(*turns, return_exceptions=True)
    assert probes == 1
    assert state(health) == "open"
    assert {(type(each), str(each), getattr(each, "retry_after", 0)) for each in errors} == {
        (KeyRejected, "a/1: still refused", 7.0)
    }


async def test_fifty_callers_continue_with_the_probes_first_token() -> None:
    health = ModelHealth(Time())
    await fails(health, REFUSED)
    first_word, end = asyncio.Event(), asyncio.Event()
    under_way = 0

    async def turn() -> None:
        nonlocal under_way
        with await begun(health, MODEL, WAY, probe=True) as trial:
            under_way += 1
            await first_word.wait()
            trial.first_token()
            await end.wait()
            trial.end()

    turns = [asyncio.create_task(turn()) for _ in range(TURNS)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert under_way == 1
    first_word.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert under_way == TURNS
    assert state(health) == "closed"
    end.set()
    await asyncio.gather(*turns)


async def test_a_caller_waiting_for_a_cancelled_probe_makes_the_next() -> None:
    health = ModelHealth(Time())
    await fails(health, REFUSED)

    async def hangs() -> None:
        with await begun(health, MODEL, WAY, probe=True):
            await asyncio.Event().wait()

    first = asyncio.create_task(hangs())
    await asyncio.sleep(0)
    second = asyncio.create_task(answers(health, probe=True))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(second, 60)
    assert state(health) == "closed"


async def test_state_round_trips_as_text() -> None:
    clock = Time()
    changes: list[None] = []
    health = ModelHealth(clock, lambda: changes.append(None))
    await fails(health, REFUSED)
    health.record_failure(RateLimited("b/2", "busy", 30.0))
    contract = DEFAULT_CONTRACTS["balanced"]
    for _ in range(MIN_TRIES):
        health.record_duration("c/3", contract, contract.deadline_seconds)
    assert len(changes) == 3, "each of them is worth writing down"
    text = health.keep()
    assert "key-1" not in text
    later = ModelHealth(clock)
    later.restore(text)
    for model in (MODEL, "b/2", "c/3"):
        assert later.of(model, WAY, "balanced") == health.of(model, WAY, "balanced")
    assert later.of("c/3", WAY, "balanced").slow is not None
    assert later.of("c/3", WAY, "smart").slow is None
    later.restore("nonsense")
    assert state(later) == "open"


class FakeState:
    """Stores one text at a time, when it is released; the last write that began is the one that stays."""

    def __init__(self) -> None:
        self.kept: dict[str, str | None] = {}
        self.writing, self.go = asyncio.Event(), asyncio.Event()

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def put(self, key: str, value: str | None) -> None:
        self.writing.set()
        await self.go.wait()
        self.kept[key] = value


async def test_changes_during_a_write_are_written_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.observability.health_persistence.WRITE_DELAY_SECONDS", 0.0)
    clock, store = Time(), FakeState()
    memory = HealthPersistence(store, clock)
    await fails(memory.health, REFUSED)
    await asyncio.wait_for(store.writing.wait(), 60)
    memory.health.record_failure(RateLimited("b/2", "busy", 30.0))
    store.writing.clear()
    store.go.set()
    await asyncio.wait_for(store.writing.wait(), 60)
    killed = ModelHealth(clock)
    killed.restore(str(store.kept[STATE_KEY]))
    assert killed.of("b/2", WAY, "balanced").cooldown == clock.now + 30.0
    assert state(killed) == "open"
    await memory.close()


async def test_closing_writes_pending_changes() -> None:
    clock, store = Time(), FakeState()
    store.go.set()
    memory = HealthPersistence(store, clock)
    await fails(memory.health, DOWN, DOWN)
    await memory.close()
    again = HealthPersistence(store, clock)
    await again.load()
    await fails(again.health, DOWN)
    assert state(again.health) == "open", "the third in a row, across a restart"
    await again.close()

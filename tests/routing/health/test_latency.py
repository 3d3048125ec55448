"""The p95 gate: when a model is moved to the end of the order, and when it returns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.config.contracts import DEFAULT_CONTRACTS, TierContract
from routing.health import latency
from routing.health.failures import percentile
from routing.health.latency import (
    COOLDOWN_SECONDS,
    MIN_TRIES,
    TRIES,
    Latencies,
    SavedLatency,
    Slow,
)
from tests.routing.health.breakers import Time

HUNDRED = replace(DEFAULT_CONTRACTS["smart"], deadline_seconds=100.0)


def noted(*seconds: float, contract: TierContract = HUNDRED) -> Latencies:
    latencies = Latencies(Time())
    for each in seconds:
        latencies.note("a/1", contract, each)
    return latencies


@pytest.mark.parametrize(
    ("seconds", "slow"),
    [
        ([99.0] * 19, False),
        ([99.0] * 20, True),
        ([60.0] * 50, False),
        ([60.1] * 20, True),
        ([1.0] * 19 + [89.0], False),
        ([1.0] * 18 + [61.0] * 2, True),
        ([1.0] * 19 + [90.0], False),
        ([1.0] * 19 + [90.1], True),
        ([1.0] * 47 + [61.0] * 2 + [1.0], False),
        ([1.0] * 47 + [61.0] * 3, True),
        ([1.0] * 49 + [90.1], True),
        ([90.1] * 2 + [1.0] * 17, False),
    ],
)
def test_the_thresholds_of_slowness(seconds: list[float], slow: bool) -> None:
    assert (noted(*seconds).slow("a/1", "smart") is not None) is slow


@given(st.lists(st.sampled_from((1.0, 60.0, 61.0, 90.0, 91.0)), max_size=70))
def test_slowness_is_measured_by_percentiles(seconds: list[float]) -> None:
    latencies = Latencies(Time())
    for count, each in enumerate(seconds, 1):
        latencies.note("a/1", HUNDRED, each)
        last = seconds[:count][-TRIES:]
        expected = count >= MIN_TRIES and (percentile(last, 0.95) > 60.0 or percentile(last, 0.99) > 90.0)
        found = latencies.slow("a/1", "smart")
        assert (found is not None) == expected
        if found is not None:
            assert (found.p95, found.p99) == (percentile(last, 0.95), percentile(last, 0.99))
            return


def test_each_tier_has_its_own_thresholds() -> None:
    latencies = Latencies(Time())
    for _ in range(20):
        latencies.note("a/1", DEFAULT_CONTRACTS["balanced"], 60.0)
        latencies.note("a/1", DEFAULT_CONTRACTS["deep"], 60.0)
        latencies.note("a/2", DEFAULT_CONTRACTS["balanced"], 5.0)
    assert latencies.slow("a/1", "balanced")
    assert not latencies.slow("a/1", "deep")
    assert not latencies.slow("a/1", "smart")
    assert not latencies.slow("a/2", "balanced")


@pytest.mark.parametrize(("ended", "slow"), [(1, False), (2, True)])
def test_a_cancelled_attempt_counts_as_slow(ended: int, slow: bool) -> None:
    contract = DEFAULT_CONTRACTS["balanced"]
    assert contract.try_seconds < 0.6 * contract.deadline_seconds
    latencies = Latencies(Time())
    for _ in range(20 - ended):
        latencies.note("a/1", contract, 1.0)
    for _ in range(ended):
        latencies.note("a/1", contract, contract.try_seconds, finished=False)
    assert (latencies.slow("a/1", "balanced") is not None) is slow


def test_slowness_expires_and_starts_afresh() -> None:
    time, told = Time(), []
    latencies = Latencies(time, lambda: told.append(time.now))
    for _ in range(20):
        latencies.note("a/1", HUNDRED, 70.0)
    assert latencies.slow("a/1", "smart") == Slow(time.now + COOLDOWN_SECONDS, 70.0, 70.0)
    time.now += COOLDOWN_SECONDS - 1.0
    for _ in range(19):
        latencies.note("a/1", HUNDRED, 70.0)
    assert latencies.slow("a/1", "smart")
    time.now += 1.0
    assert latencies.slow("a/1", "smart") is None
    assert len(told) == 1
    latencies.note("a/1", HUNDRED, 70.0)
    assert latencies.slow("a/1", "smart"), "what it did meanwhile counts"
    assert len(told) == 2


def test_state_is_restored() -> None:
    time = Time()
    before, after = Latencies(time), Latencies(time)
    for _ in range(25):
        before.note("a/1", HUNDRED, 70.0)
    for _ in range(19):
        before.note("a/2", HUNDRED, 70.0)
    after.restore(before.keep())
    assert after.slow("a/1", "smart")
    assert not after.slow("a/2", "smart")
    assert after.keep() == before.keep()
    after.note("a/2", HUNDRED, 70.0)
    assert after.slow("a/2", "smart")
    after.restore({("a/3", "deep"): SavedLatency((), Slow(time.now + 1e9, 1.0, 1.0))})
    assert after.slow("a/3", "deep") == Slow(time.now + COOLDOWN_SECONDS, 1.0, 1.0)


def test_memory_is_bounded_for_any_number_of_names() -> None:
    latencies = noted(*[1.0] * 10)
    for number in range(2 * latency.MAX_ENTRIES):
        latencies.note(f"b/{number}", HUNDRED, 1.0)
    assert len(latencies.keep()) == latency.MAX_ENTRIES
    assert ("a/1", "smart") in latencies.keep()

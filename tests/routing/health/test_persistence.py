"""The state that survives a restart, and invalid state that is ignored."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.config.contracts import DEFAULT_CONTRACTS
from routing.errors import KeyRejected, RateLimited
from routing.health import persistence
from routing.health.breakers import Breakers
from routing.health.cooldown import Cooldowns
from routing.health.latency import Latencies
from routing.health.learned_windows import LearnedWindows
from tests.routing.health.breakers import DOWN, REFUSED, Time, tried


class Parts:
    """One process's knowledge of failures."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.breakers, self.cooldowns, self.latencies = Breakers(time), Cooldowns(time), Latencies(time)
        self.windows = LearnedWindows(time)

    def dump(self) -> str:
        return persistence.dump(self.breakers, self.cooldowns, self.latencies, self.windows)

    def load(self, text: str) -> bool:
        return persistence.load(text, self.breakers, self.cooldowns, self.latencies, self.windows)


def with_failures(time: Time) -> Parts:
    parts = Parts(time)
    tried(parts.breakers.of("a/1", "k1"), REFUSED)
    tried(parts.breakers.of("a/1", "k2"), None, DOWN, DOWN)
    parts.cooldowns.note(RateLimited("b/2", "x", 30.0))
    for _ in range(20):
        parts.latencies.note("c/3", DEFAULT_CONTRACTS["smart"], 170.0)
        parts.latencies.note("c/3", DEFAULT_CONTRACTS["deep"], 17.0)
    return parts


def test_a_restart_changes_nothing() -> None:
    time = Time()
    before, after = with_failures(time), Parts(time)
    text = before.dump()
    assert "\n" not in text
    assert after.load(text)
    assert after.dump() == text
    assert after.breakers.statuses() == before.breakers.statuses()
    assert after.breakers.status("a/1", "k1").state == "open"
    tried(after.breakers.of("a/1", "k2"), DOWN)
    assert after.breakers.status("a/1", "k2").state == "open", "two of its three failures were before the restart"
    assert after.cooldowns.until("b/2") == time.now + 30.0
    assert after.latencies.slow("c/3", "smart") == before.latencies.slow("c/3", "smart")


def test_expired_state_is_dropped_after_a_long_pause() -> None:
    time = Time()
    text = with_failures(time).dump()
    time.now += 36_000.0
    after = Parts(time)
    assert after.load(text)
    assert after.cooldowns.keep() == {}
    assert after.latencies.slow("c/3", "smart") is None
    trial = after.breakers.of("a/1", "k1").begin()
    assert trial is not None
    assert after.breakers.status("a/1", "k1").state == "probing"
    tried(after.breakers.of("a/1", "k2"), DOWN, DOWN)
    assert after.breakers.status("a/1", "k2").state == "closed"


def test_an_empty_state_is_stored() -> None:
    assert Parts(Time()).load(Parts(Time()).dump())


def changed(**values: object) -> str:
    return json.dumps({**json.loads(with_failures(Time()).dump()), **values})


OPEN = {"until": 1.0, "seconds": 60.0, "why": "", "tries": []}
BROKEN = [
    "",
    "null",
    "[]",
    "{",
    "{}",
    "[" * 100_000,
    changed(version=2),
    changed(version="1"),
    changed(breakers=None),
    changed(breakers=[["a/1", "k"]]),
    changed(breakers=[["a/1", "k", {**OPEN, "until": "soon"}]]),
    changed(breakers=[["a/1", "k", {**OPEN, "tries": [[1.0]]}]]),
    changed(breakers=[["a/1", 7, OPEN]]),
    changed(breakers=[["a/1", "k", {**OPEN, "until": float("nan")}]]),
    changed(cooldowns={"a/1": None}),
    changed(cooldowns={"a/1": float("inf")}),
    changed(latencies=[["a/1", "dep", {"seconds": [], "slow": None}]]),
    changed(latencies=[["a/1", "deep", {"seconds": ["x"], "slow": None}]]),
    changed(latencies=[["a/1", "deep", {"seconds": [], "slow": {"until": 1}}]]),
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_state_is_ignored_and_logged(text: str, caplog: pytest.LogCaptureFixture) -> None:
    parts = with_failures(Time())
    before = parts.dump()
    with caplog.at_level(logging.WARNING):
        assert parts.load(text) is False
    assert parts.dump() == before
    assert [record.getMessage() for record in caplog.records if "are ignored" in record.getMessage()]


@given(st.text(), st.integers(0, 600))
def test_a_missing_or_broken_state_does_not_stop_the_start(text: str, cut: int) -> None:
    whole = with_failures(Time()).dump()
    assert not Parts(Time()).load(text)
    assert not Parts(Time()).load(whole[: min(cut, len(whole) - 1)])


def test_names_no_database_accepts_are_skipped() -> None:
    parts = Parts(Time())
    tried(parts.breakers.of("a/\ud800\0", "k"), KeyRejected("a/1", "no \0 key"))
    text = parts.dump()
    assert "\0" not in text
    assert text.encode()
    assert Parts(Time()).load(text)

"""There is a breaker for each model and key."""

from __future__ import annotations

import pytest

from routing.health import breakers
from routing.health.breaker import CLOSED
from routing.health.breakers import Breakers, fingerprint
from routing.types.llm import ProviderProfile
from tests.routing.health.breakers import DOWN, REFUSED, Time, tried


def profile(key: str | None, address: str | None = None) -> ProviderProfile:
    return ProviderProfile("a", None, address, key, 300.0, "A_API_KEY")


def test_another_key_or_address_is_another_breaker() -> None:
    ways = [profile("k1"), profile("k2"), profile(None), profile("k1", "http://h"), profile(None, "http://h")]
    prints = [fingerprint(way) for way in ways]
    assert len(set(prints)) == len(ways)
    assert fingerprint(profile("k1")) == prints[0]
    every = Breakers(Time())
    tried(every.of("a/1", prints[0]), REFUSED)
    assert [every.status("a/1", each).state for each in prints] == ["open"] + ["closed"] * 4
    assert every.status("a/2", prints[0]) is CLOSED
    assert every.of("a/1", prints[0]) is every.of("a/1", prints[0])
    assert list(every.statuses()) == [("a/1", prints[0])]


def test_a_fingerprint_does_not_reveal_the_key() -> None:
    assert "sk-1" not in fingerprint(profile("sk-1"))
    assert len(fingerprint(profile("sk-1" * 99))) == 16
    assert fingerprint(profile("\ud800"))


def test_only_failures_are_remembered() -> None:
    every = Breakers(Time())
    every.of("a/idle", "")
    every.status("a/other", "")
    tried(every.of("a/1", ""), DOWN)
    assert list(every.keep()) == [("a/1", "")]


@pytest.mark.parametrize("busy", [False, True])
def test_memory_is_bounded_for_any_number_of_names(busy: bool) -> None:
    every = Breakers(Time())
    tried(every.of("a/broken", ""), REFUSED)
    tried(every.of("a/shaky", ""), DOWN, DOWN)
    for number in range(3 * breakers.MAX_ENTRIES):
        breaker = every.of(f"a/{number}", "")
        if busy:
            tried(breaker, None)
    assert len(every.keep() if busy else every._breakers) <= breakers.MAX_ENTRIES
    assert every.status("a/broken", "").state == "open"
    assert busy or len(every.of("a/shaky", "").keep().tries) == 2, "those that know nothing go first"


def test_if_all_are_open_the_oldest_is_evicted() -> None:
    every = Breakers(Time())
    for number in range(breakers.MAX_ENTRIES + 1):
        tried(every.of(f"a/{number}", ""), REFUSED)
    assert len(every.statuses()) == breakers.MAX_ENTRIES
    assert every.status("a/0", "") is CLOSED

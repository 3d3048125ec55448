"""A clock that stands still until it is moved, and errors without further ado."""

from __future__ import annotations

from routing.errors import KeyRejected, ModelError, Unreachable
from routing.health.breaker import Breaker

DOWN = Unreachable("a/1", "it is down")
REFUSED = KeyRejected("a/1", "a refused the key")


class Time:
    """Unix seconds."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def tried(breaker: Breaker, *results: ModelError | None) -> None:
    """One try after the other, each of which must be let through."""
    for error in results:
        trial = breaker.begin()
        assert trial is not None, "the breaker is open"
        with trial:
            trial.end(error)


def opened(time: Time) -> Breaker:
    """Open for a minute from now on."""
    breaker = Breaker(time, lambda: None)
    tried(breaker, REFUSED)
    return breaker

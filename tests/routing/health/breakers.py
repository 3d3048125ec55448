"""A manual clock, and shortcuts for errors."""

from __future__ import annotations

from routing.errors import KeyRejected, ModelError, Unreachable
from routing.health.breaker import Breaker

DOWN = Unreachable("a/1", "it is down")
REFUSED = KeyRejected("a/1", "a refused the key")


class Time:
    """Manual time in Unix seconds."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def tried(breaker: Breaker, *results: ModelError | None) -> None:
    """One attempt after another, each of which must be allowed."""
    for error in results:
        trial = breaker.begin()
        assert trial is not None, "the breaker is open"
        with trial:
            trial.end(error)


def opened(time: Time) -> Breaker:
    """A breaker that is open for a minute from now."""
    breaker = Breaker(time, lambda: None)
    tried(breaker, REFUSED)
    return breaker

"""The latency gate: a model that has become slow in a tier is tried last for a while."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from routing.config.contracts import TierContract
from routing.health.failures import percentile
from routing.ports import Clock
from routing.types.tiers import Tier

TRIES = 50
MIN_TRIES = 20
P95_SHARE = 0.6
P99_SHARE = 0.9
"""A model is slow if p95 or p99 of its last TRIES (at least MIN_TRIES) exceeds this share of the deadline."""
COOLDOWN_SECONDS = 600.0
"""How long a slow model is tried last. After that it starts with an empty record, so it takes MIN_TRIES attempts to
judge it again. Equal to the breaker's window."""
MAX_ENTRIES = 500
"""Maximum number of entries in memory. People can enter any model name."""
LatencyKey = tuple[str, Tier]
"""A model in a tier: tiers differ in reasoning effort and so in speed."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Tried last until `until` (Unix seconds); p95 and p99 are the measured seconds."""

    until: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class SavedLatency:
    """The state of a model in a tier to save: the seconds of its attempts, and whether it is slow."""

    seconds: tuple[float, ...] = ()
    slow: Slow | None = None


class Latencies:
    """The durations of recent attempts. `changed` is called when a model becomes slow; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._tries: dict[LatencyKey, deque[float]] = {}
        self._slow: dict[LatencyKey, Slow] = {}

    def note(self, model: str, contract: TierContract, seconds: float, finished: bool = True) -> None:
        """Record an attempt that answered or, if not `finished`, was cut off. A cut-off attempt counts as at least
        P99_SHARE of the deadline: too slow for p95, where one in twenty may be, and not enough alone for p99. Attempts
        that failed at once don't count."""
        service, deadline = (model, contract.tier), contract.deadline_seconds
        tries = self._tries.get(service)
        if tries is None:
            if len(self._tries) >= MAX_ENTRIES:
                del self._tries[min(self._tries, key=lambda each: len(self._tries[each]))]
            tries = self._tries[service] = deque(maxlen=TRIES)
        tries.append(seconds if finished else max(seconds, P99_SHARE * deadline))
        if len(tries) < MIN_TRIES or max(tries) <= P95_SHARE * deadline:
            return
        if _above(tries, 0.95, P95_SHARE * deadline) or _above(tries, 0.99, P99_SHARE * deadline):
            until = self._clock() + COOLDOWN_SECONDS
            self._slow[service] = Slow(until, percentile(tries, 0.95), percentile(tries, 0.99))
            tries.clear()
            self._changed()

    def slow(self, model: str, tier: Tier) -> Slow | None:
        """Whether the model should be tried last."""
        found = self._slow.get((model, tier))
        if found is not None and found.until <= self._clock():
            del self._slow[model, tier]
            return None
        return found

    def keep(self) -> dict[LatencyKey, SavedLatency]:
        return {
            service: SavedLatency(tuple(self._tries.get(service, ())), self.slow(*service))
            for service in (*self._tries, *(each for each in tuple(self._slow) if each not in self._tries))
        }

    def restore(self, kept: Mapping[LatencyKey, SavedLatency]) -> None:
        """Restore a saved state. Times too far in the future (a wrong clock) are cut."""
        latest = self._clock() + COOLDOWN_SECONDS
        for service, each in kept.items():
            self._tries[service] = deque(each.seconds, TRIES)
            if each.slow is not None:
                self._slow[service] = Slow(min(each.slow.until, latest), each.slow.p95, each.slow.p99)


def _above(tries: deque[float], share: float, bound: float) -> bool:
    """Whether the nearest-rank percentile exceeds a bound; counting is faster than sorting."""
    beyond = len(tries) - math.ceil(share * len(tries))
    return sum(map(bound.__lt__, tries)) > beyond

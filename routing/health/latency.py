"""The p95 gate: a model that has become slow for a tier is asked last there, for a while."""

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
LEAST_TRIES = 20
P95_SHARE = 0.6
P99_SHARE = 0.9
"""Of the last TRIES, once there are LEAST_TRIES: above these shares of the deadline (tier contracts, One turn)."""
COOLDOWN_SECONDS = 600.0
"""How long a slow model is asked last. It comes back by the clock alone and with a clean sheet, so that it takes
LEAST_TRIES new tries to judge it again, also those that it was given meanwhile. As long as a breaker's window."""
MOST = 500
"""Models a tier that are remembered. Names come from people: there is no end of them."""
Service = tuple[str, Tier]
"""A model in a tier: with another tier's effort it is as fast as another model."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Asked last until then (Unix seconds); p95 and p99 are the seconds that were found."""

    until: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a model in a tier survives a restart: the seconds of its tries, and whether it is asked last."""

    seconds: tuple[float, ...] = ()
    slow: Slow | None = None


class Latencies:
    """How long the last tries took. `changed` is told when a model has become slow; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._tries: dict[Service, deque[float]] = {}
        self._slow: dict[Service, Slow] = {}

    def note(self, model: str, contract: TierContract, seconds: float, finished: bool = True) -> None:
        """A try that brought an answer, or (not finished) was ended because it took too long. Nobody knows how long
        that one would have taken: it counts as too long for p95, where one in twenty may be, and never alone, for p99.
        A try that failed at once is none: it says nothing of time."""
        service, deadline = (model, contract.tier), contract.deadline_seconds
        tries = self._tries.get(service)
        if tries is None:
            if len(self._tries) >= MOST:
                del self._tries[min(self._tries, key=lambda each: len(self._tries[each]))]
            tries = self._tries[service] = deque(maxlen=TRIES)
        tries.append(seconds if finished else max(seconds, P99_SHARE * deadline))
        if len(tries) < LEAST_TRIES or max(tries) <= P95_SHARE * deadline:
            return
        if _above(tries, 0.95, P95_SHARE * deadline) or _above(tries, 0.99, P99_SHARE * deadline):
            until = self._clock() + COOLDOWN_SECONDS
            self._slow[service] = Slow(until, percentile(tries, 0.95), percentile(tries, 0.99))
            tries.clear()
            self._changed()

    def slow(self, model: str, tier: Tier) -> Slow | None:
        """Whether it is to be asked last."""
        found = self._slow.get((model, tier))
        if found is not None and found.until <= self._clock():
            del self._slow[model, tier]
            return None
        return found

    def keep(self) -> dict[Service, Kept]:
        """For the next start."""
        return {
            service: Kept(tuple(self._tries.get(service, ())), self.slow(*service))
            for service in (*self._tries, *(each for each in tuple(self._slow) if each not in self._tries))
        }

    def restore(self, kept: Mapping[Service, Kept]) -> None:
        """As it was; what lies in the future by a wrong clock is brought back to what can be."""
        latest = self._clock() + COOLDOWN_SECONDS
        for service, each in kept.items():
            self._tries[service] = deque(each.seconds, TRIES)
            if each.slow is not None:
                self._slow[service] = Slow(min(each.slow.until, latest), each.slow.p95, each.slow.p99)


def _above(tries: deque[float], share: float, bound: float) -> bool:
    """Whether the nearest-rank percentile is above a bound: counted, as to sort would take longer."""
    beyond = len(tries) - math.ceil(share * len(tries))
    return sum(map(bound.__lt__, tries)) > beyond

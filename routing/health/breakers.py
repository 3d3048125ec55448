"""The circuit breakers of all models, one per model and key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b

from routing.health.breaker import CLOSED, Breaker, BreakerStatus, SavedBreaker
from routing.ports import Clock
from routing.types.llm import ProviderProfile

MAX_ENTRIES = 500
"""Maximum number of breakers in memory. People can enter any model name."""
BreakerKey = tuple[str, str]
"""A model and the fingerprint of its key and address."""


def fingerprint(profile: ProviderProfile) -> str:
    """Identifies a key and address without revealing them. A change of either starts with a new breaker."""
    way = f"{profile.api_key or ''}\n{profile.base_url or ''}"
    return blake2b(way.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class Breakers:
    """The breakers by model and key, created on first use. `changed` is called when one opens or closes; it must return
    at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._breakers: dict[BreakerKey, Breaker] = {}

    def of(self, model: str, key: str) -> Breaker:
        """The breaker of a model under a key's fingerprint."""
        found = self._breakers.get((model, key))
        if found is None:
            if len(self._breakers) >= MAX_ENTRIES:
                self._make_room()
            found = self._breakers[model, key] = Breaker(self._clock, self._changed)
        return found

    def status(self, model: str, key: str) -> BreakerStatus:
        """The state of a breaker; closed if there is none."""
        found = self._breakers.get((model, key))
        return CLOSED if found is None else found.status()

    def statuses(self) -> dict[BreakerKey, BreakerStatus]:
        """The breakers that are not closed, for /status."""
        every = ((place, each.status()) for place, each in self._breakers.items())
        return {place: status for place, status in every if status is not CLOSED}

    def keep(self) -> dict[BreakerKey, SavedBreaker]:
        """The breakers with any state to save."""
        every = ((place, each.keep()) for place, each in self._breakers.items())
        return {place: kept for place, kept in every if kept.seconds or kept.tries}

    def restore(self, kept: Mapping[BreakerKey, SavedBreaker]) -> None:
        for (model, key), each in kept.items():
            self.of(model, key).restore(each)

    def _make_room(self) -> None:
        """Drop all closed breakers without state; if there are none, the oldest closed one."""
        known = self.keep()
        closed = [place for place, each in self._breakers.items() if each.status() is CLOSED]
        spare = [place for place in closed if place not in known] or closed[:1] or list(self._breakers)[:1]
        for place in spare:
            del self._breakers[place]

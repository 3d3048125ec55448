"""Limits concurrent model calls per person and per provider; the rest wait in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from routing.config.sections import ConcurrencyLimits
from routing.ports import Clock


@dataclass(slots=True)
class _Line:
    """A semaphore for `most` calls; `heads` counts those running or waiting."""

    places: asyncio.Semaphore
    most: int
    heads: int = 0


class _Lines:
    """One first-come, first-served queue per key. `asyncio.Semaphore` is fair, also when a waiting call is cancelled. A
    change of `most` applies to new queues."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lines: dict[str | int, _Line] = {}

    async def enter(self, key: str | int) -> None:
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(asyncio.Semaphore(self.most), self.most)
        line.heads += 1
        try:
            await line.places.acquire()
        except asyncio.CancelledError:
            self._lost(key, line)
            raise

    def leave(self, key: str | int) -> None:
        line = self._lines[key]
        line.places.release()
        self._lost(key, line)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(key) for key in self._lines)

    def waiting(self, key: str | int) -> int:
        line = self._lines.get(key)
        return 0 if line is None else max(0, line.heads - line.most)

    def _lost(self, key: str | int, line: _Line) -> None:
        line.heads -= 1
        if not line.heads:
            del self._lines[key]


class ConcurrencyLimiter:
    """Both limits. The person's own comes first, so that waiting for it takes no slot at the provider."""

    def __init__(self, clock: Clock, limits: ConcurrencyLimits) -> None:
        self._clock = clock
        self._people = _Lines(limits.per_user)
        self._providers = _Lines(limits.per_provider)

    def limit(self, limits: ConcurrencyLimits) -> None:
        """Change the limits of all queues that start from now on."""
        self._people.most, self._providers.most = limits.per_user, limits.per_provider

    @property
    def lines(self) -> Mapping[str, int]:
        """The number of waiting calls of each provider that has any."""
        return {name: n for name in self._providers.names if (n := self.waiting(name))}

    def place(self, provider: str, person_id: int) -> Place:
        """A slot for one call, held with `async with`, whose value is the seconds waited; they don't count towards the
        turn. Don't ask for a second slot inside it: with a limit of 1 that would wait forever."""
        return Place(self._people, person_id, self._providers, provider, self._clock)

    def waiting(self, provider: str) -> int:
        """The number of calls waiting for the provider, for /status."""
        return self._providers.waiting(provider)


class Place:
    """One call's slot; see `ConcurrencyLimiter.place`. Cancelling it while it waits leaves both queues."""

    __slots__ = ("_clock", "_people", "_person", "_provider", "_providers")

    def __init__(self, people: _Lines, person: int, providers: _Lines, provider: str, clock: Clock) -> None:
        self._people, self._person = people, person
        self._providers, self._provider = providers, provider
        self._clock = clock

    async def __aenter__(self) -> float:
        began = self._clock()
        await self._people.enter(self._person)
        try:
            await self._providers.enter(self._provider)
        except asyncio.CancelledError:
            self._people.leave(self._person)
            raise
        return max(0.0, self._clock() - began)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._providers.leave(self._provider)
        self._people.leave(self._person)

"""Limits concurrent model calls per person and per provider; the rest wait in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

from routing.config.sections import ConcurrencyLimits
from routing.ports import Clock


@dataclass(slots=True)
class _Queue:
    """`slots` lets `limit` calls run; `calls` counts those running or waiting."""

    slots: asyncio.Semaphore
    limit: int
    calls: int = 0


class _Queues:
    """One first-come, first-served queue per key. `asyncio.Semaphore` is fair, also when a waiting call is cancelled. A
    change of `limit` applies to new queues."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._queues: dict[str | int, _Queue] = {}

    async def enter(self, key: str | int) -> None:
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue(asyncio.Semaphore(self.limit), self.limit)
        queue.calls += 1
        try:
            await queue.slots.acquire()
        except asyncio.CancelledError:
            self._left(key, queue)
            raise

    def leave(self, key: str | int) -> None:
        queue = self._queues[key]
        queue.slots.release()
        self._left(key, queue)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(key) for key in self._queues)

    def waiting(self, key: str | int) -> int:
        queue = self._queues.get(key)
        return 0 if queue is None else max(0, queue.calls - queue.limit)

    def _left(self, key: str | int, queue: _Queue) -> None:
        queue.calls -= 1
        if not queue.calls:
            del self._queues[key]


class ConcurrencyLimiter:
    """Both limits. The person's own comes first, so that waiting for it takes no slot at the provider."""

    def __init__(self, clock: Clock, limits: ConcurrencyLimits) -> None:
        self._clock = clock
        self._people = _Queues(limits.per_user)
        self._providers = _Queues(limits.per_provider)

    def limit(self, limits: ConcurrencyLimits) -> None:
        """Change the limits of all queues that start from now on."""
        self._people.limit, self._providers.limit = limits.per_user, limits.per_provider

    @property
    def queued(self) -> Mapping[str, int]:
        """The number of waiting calls of each provider that has any."""
        return {name: n for name in self._providers.names if (n := self.waiting(name))}

    def slot(self, provider: str, person_id: int) -> Slot:
        """A slot for one call, held with `async with`, whose value is the seconds waited; they don't count towards the
        turn. Don't ask for a second slot inside it: with a limit of 1 that would wait forever."""
        return Slot(self._people, person_id, self._providers, provider, self._clock)

    def waiting(self, provider: str) -> int:
        """The number of calls waiting for the provider, for /status."""
        return self._providers.waiting(provider)


class Slot:
    """One call's slot; see `ConcurrencyLimiter.slot`. Cancelling it while it waits leaves both queues."""

    __slots__ = ("_clock", "_people", "_person", "_provider", "_providers")

    def __init__(self, people: _Queues, person: int, providers: _Queues, provider: str, clock: Clock) -> None:
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

"""A fair queue for commands."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Busy(Exception):
    """No slot became free in time."""


class FairQueue:
    """At most `together` slots in total and `each` per person. A free slot goes to the waiting person with the fewest
    slots, then to the one served least recently. One person's many commands can't delay the others."""

    def __init__(self, together: int, each: int) -> None:
        self._together = together
        self._each = each
        self._running: Counter[int] = Counter()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._turns: dict[int, int] = {}
        """The serial number of the last slot given to each waiting person."""
        self._given = 0

    @property
    def waiting(self) -> int:
        """The number of waiting commands."""
        return len(self._waiting)

    @asynccontextmanager
    async def taken(self, person_id: int, seconds: float) -> AsyncIterator[None]:
        """Takes a slot for the duration of the block. Raises Busy if none is free within `seconds`."""
        if self._fits(person_id):
            self._take(person_id)
        else:
            await self._given_one(person_id, seconds)
        try:
            yield
        finally:
            self._leave(person_id)

    async def _given_one(self, person_id: int, seconds: float) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((person_id, place))
        try:
            async with asyncio.timeout(seconds):
                await place
        except (asyncio.CancelledError, TimeoutError) as error:
            if place.done() and not place.cancelled():  # granted just as the wait ended
                self._leave(person_id)
            else:
                self._waiting.remove((person_id, place))
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise

    def _fits(self, person_id: int) -> bool:
        return self._running.total() < self._together and self._running[person_id] < self._each

    def _take(self, person_id: int) -> None:
        self._running[person_id] += 1
        self._given += 1
        self._turns[person_id] = self._given

    def _leave(self, person_id: int) -> None:
        self._running[person_id] -= 1
        while able := [each for each in self._waiting if self._fits(each[0]) and not each[1].done()]:
            following = min(able, key=lambda each: (self._running[each[0]], self._turns.get(each[0], 0)))
            self._waiting.remove(following)
            self._take(following[0])
            following[1].set_result(None)
        kept = {each for each, _ in self._waiting} | {each for each, number in self._running.items() if number}
        self._running = Counter({each: self._running[each] for each in kept if self._running[each]})
        self._turns = {each: turn for each, turn in self._turns.items() if each in kept}

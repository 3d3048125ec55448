"""The right of this process to handle chats, where several processes share a database."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable

from routing.types.messages import ChatKey

VALID_SECONDS = 5.0
"""After the last heartbeat. Others take over after `DEAD_SECONDS` (storage/postgres_schema.py), which is more."""
CLOCK = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
"""It also counts while the machine is suspended."""


class LeaseLost(asyncio.CancelledError):
    """Another process may handle this chat by now. What is under way ends like cancelled work: nothing is stored."""


class Lease:
    """`process_id` is the number of this process in the database; a new one after each loss. Changes of waiting
    rows name it, so that the database refuses those of a process that others took for dead."""

    def __init__(self, clock: Callable[[], float] = lambda: time.clock_gettime(CLOCK)) -> None:
        self.process_id = 0
        self.lost = asyncio.Event()
        """Set once the database refused a change, or it is not known whether it made one: what this process holds in
        memory may differ from its rows."""
        self.announced = asyncio.Event()
        """Set once something was stored for chats that are still to be claimed; see `take_announced`."""
        self._clock = clock
        self._valid_until = -math.inf
        self._renewed = asyncio.Event()
        self._used: dict[str, float] = {}
        """The claimed chats, and when each was used last."""
        self._announced: set[str] = set()

    @property
    def valid(self) -> bool:
        """Whether no other process can have taken over."""
        return self._clock() < self._valid_until

    async def wait_until_valid(self) -> None:
        """Return as soon as the lease is valid."""
        while not self.valid:
            self._renewed.clear()
            await self._renewed.wait()

    def begin(self, process_id: int, now: float) -> None:
        """Start without chats, as a new process, which registered at the time `now`."""
        self.process_id = process_id
        self._used.clear()
        self.lost.clear()
        self.renew(now)

    def now(self) -> float:
        """The time for `begin` and `renew`: before the database is asked."""
        return self._clock()

    def renew(self, now: float) -> None:
        """Note the success of a heartbeat that was begun at the time `now`."""
        self._valid_until = now + VALID_SECONDS
        self._renewed.set()

    def fail(self) -> LeaseLost:
        """The error for a change that the database refused. Everything else under way is to end, too."""
        self.lost.set()
        return LeaseLost("another process may handle this chat by now")

    @property
    def chats(self) -> tuple[str, ...]:
        """The claimed chats."""
        return tuple(self._used)

    def add(self, chats: Iterable[str]) -> None:
        """Note that these chats are claimed."""
        self._used.update(dict.fromkeys(chats, self._clock()))

    def holds(self, chat: ChatKey) -> bool:
        """Whether this process handles a chat. If so, it keeps the chat for now."""
        held = chat.claim in self._used
        if held:
            self._used[chat.claim] = self._clock()
        return held

    def unused(self, seconds: float) -> tuple[str, ...]:
        """Take the chats that were not used for some time from the claimed ones."""
        before = self._clock() - seconds
        found = tuple(chat for chat, used in self._used.items() if used < before)
        for chat in found:
            del self._used[chat]
        return found

    def announce(self, chats: Iterable[ChatKey]) -> None:
        """Something was stored for these chats."""
        self._announced.update(chat.claim for chat in chats)
        self.announced.set()

    def take_announced(self) -> frozenset[str]:
        """The chats announced since the last call."""
        self.announced.clear()
        found, self._announced = frozenset(self._announced), set()
        return found

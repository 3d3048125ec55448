"""Work in order for each key, side by side for different keys."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Generic, TypeVar

from routing.error_boundary import ErrorBoundary
from routing.types.lease import LeaseLost

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Job = Callable[[], Awaitable[None]]


class _Queue(Generic[T]):
    """What waits for one key; `added` is set when something is added while `peek` waits."""

    __slots__ = ("added", "items", "task")

    def __init__(self) -> None:
        self.items: deque[T] = deque()
        self.added: asyncio.Event | None = None
        self.task: asyncio.Task[None]


class KeyedQueue(Generic[K, T]):
    """One task per key that has work.

    `handle` is given the key and takes at least one item with `take`. If it raises, the error is logged and the key's
    other items are still handled. `on_idle` runs each time the last key has no more work.
    """

    def __init__(
        self, owner: str, handle: Callable[[K], Awaitable[None]], on_idle: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._owner = owner
        self._handle = handle
        self._on_idle = on_idle
        self._queues: dict[K, _Queue[T]] = {}
        self._waiting = 0
        self._closing = False

    def __contains__(self, key: K) -> bool:
        """Whether something waits or is under way for this key."""
        return key in self._queues

    def __len__(self) -> int:
        """The number of keys with work."""
        return len(self._queues)

    @property
    def waiting(self) -> int:
        """The number of items that no handler has taken."""
        return self._waiting

    def items(self, key: K) -> Collection[T]:
        """What waits for this key, in order."""
        return self._queues[key].items if key in self._queues else ()

    def put(self, key: K, item: T, *, ahead: bool = False) -> None:
        """Add an item behind the others of its key, or `ahead` of them. Ignored once closed."""
        if self._closing:
            return
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue()
            queue.task = asyncio.get_running_loop().create_task(self._run(key, queue), name=f"{self._owner} {key}")
        (queue.items.appendleft if ahead else queue.items.append)(item)
        self._waiting += 1
        if queue.added is not None:
            queue.added.set()

    def take(self, key: K) -> T:
        """The next item of this key. Raises LookupError if there is none."""
        item = self._queues[key].items.popleft()
        self._waiting -= 1
        return item

    async def peek(self, key: K, seconds: float) -> T | None:
        """The next item of this key without taking it; None if none comes within `seconds`."""
        queue = self._queues[key]
        if not queue.items:
            queue.added = asyncio.Event()
            try:
                await asyncio.wait_for(queue.added.wait(), seconds)
            except TimeoutError:
                return None
            finally:
                queue.added = None
        return queue.items[0]

    async def join(self, seconds: float) -> None:
        """Wait at most `seconds` until nothing is left to do."""
        end = asyncio.get_running_loop().time() + seconds
        while (running := self._running()) and (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(running, timeout=left)

    async def close(self, grace: float = 0.0) -> None:
        """Start no other item, give what is under way `grace` seconds, then cancel it."""
        self._closing = True
        await self.join(grace)
        running = self._running()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def abandon(self) -> None:
        """Drop what waits, cancel what is under way, and wait until it has ended."""
        queues, self._queues = list(self._queues.values()), {}
        self._waiting = 0
        for queue in queues:
            queue.items.clear()
            queue.task.cancel()
        await asyncio.gather(*(queue.task for queue in queues), return_exceptions=True)

    def _running(self) -> set[asyncio.Task[None]]:
        return {queue.task for queue in self._queues.values() if not queue.task.done()}

    async def _run(self, key: K, queue: _Queue[T]) -> None:
        while queue.items:
            if self._closing:
                return
            with ErrorBoundary(log, "%s: an item for %s failed", self._owner, key):
                try:
                    await self._handle(key)
                except LeaseLost:  # `abandon` follows
                    return
        if self._queues.get(key) is queue:
            del self._queues[key]
        if not self._queues and self._on_idle is not None:
            await self._on_idle()

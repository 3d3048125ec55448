"""Measures how long other work in the event loop is blocked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Block:
    """The longest time in milliseconds in which nothing else ran: by the clock, and the loop's own share of it, which
    excludes other programs."""

    wall: float
    cpu: float


class Ticks:
    """A task that is always ready and records how long it was kept waiting."""

    def __init__(self) -> None:
        self._wall: list[float] = []
        self._cpu: list[float] = []

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            self._wall.append(time.perf_counter())
            self._cpu.append(time.thread_time())
            await asyncio.sleep(0)

    def longest(self) -> Block:
        """The longest time between two ticks."""
        return Block(_widest(self._wall), _widest(self._cpu))


async def longest_block(select: Callable[[str], Awaitable[object]], queries: Sequence[str]) -> Block:
    """While all queries are answered one after the other."""
    longest = Block(0.0, 0.0)
    for query in queries:
        ticks = Ticks()
        ticking = asyncio.create_task(ticks.run())
        await asyncio.sleep(0)
        await select(query)
        await asyncio.sleep(0)
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        found = ticks.longest()
        longest = Block(max(longest.wall, found.wall), max(longest.cpu, found.cpu))
    return longest


def _widest(moments: Sequence[float]) -> float:
    return max(((after - before) * 1e3 for before, after in pairwise(moments)), default=0.0)

"""What the processes of a run do. They import no more than their contender needs."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

import uvloop

from benchmarks.queues.board import FRONTS, Board
from benchmarks.queues.contender import Job, Message, Put, contender

AHEAD = 1_000
"""Messages that wait at most while fronts put as fast as they can."""
_STRIDE = 7919
"""A prime, so that the conversations take turns without being neighbours."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the fronts put: at most `messages`, for at most `seconds`, `batch` in a commit. `rate` is for a second and
    all fronts; 0: as fast as they can, with AHEAD waiting or, if `ahead`, without a limit. `burst` messages of a
    conversation follow each other."""

    messages: int
    conversations: int = 1_000
    seconds: float = 3_600.0
    batch: int = 20
    rate: float = 0.0
    burst: int = 1
    ahead: bool = False

    def message(self, index: int) -> Message:
        """A conversation belongs to one front, as a chat's updates come one after the other."""
        if self.conversations < FRONTS:
            return Message(index, 0)
        turn = index // FRONTS // self.burst * _STRIDE % (self.conversations // FRONTS)
        return Message(index, turn * FRONTS + index % FRONTS)


def create(name: str, dsn: str) -> None:
    """Makes the tables."""
    logging.disable(logging.CRITICAL)
    asyncio.run(contender(name).create(dsn))


def consume(name: str, dsn: str, job: Job, ready: Any) -> None:
    """Runs jobs until it is killed."""
    logging.disable(logging.CRITICAL)
    uvloop.run(contender(name).consume(dsn, job, ready.set))


def front(name: str, dsn: str, load: Load, board: Board, slot: int, ready: Any) -> None:
    """Puts its share of the messages once the board says go."""
    logging.disable(logging.CRITICAL)

    async def main() -> None:
        async with contender(name).front(dsn) as put:
            ready.set()
            await asyncio.to_thread(board.go.wait)
            before = time.process_time()
            await _put(load, board, slot, put)
            board.cpu[slot] = time.process_time() - before

    uvloop.run(main())


async def _put(load: Load, board: Board, slot: int, put: Put) -> None:
    began = time.monotonic()
    place = slot
    while place < load.messages and (now := time.monotonic()) < began + load.seconds:
        due = began + (place - slot) / load.rate if load.rate else now
        if due > now:
            await asyncio.sleep(due - now)
        elif not load.ahead and sum(board.put) - board.ended >= AHEAD:
            await asyncio.sleep(0.002)
            continue
        places = range(place, min(load.messages, place + load.batch * FRONTS), FRONTS)
        await put([load.message(each) for each in places])
        committed = time.monotonic()
        for each in places:
            board.committed[each] = committed
        board.put[slot] += len(places)
        place = places[-1] + FRONTS

"""The processes of a run: fronts that put messages, consumers that run jobs."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

import asyncpg

from benchmarks.queues.board import CONSUMERS, FRONTS, Board, new_board
from benchmarks.queues.contender import Job
from benchmarks.queues.server import Queues, Spent
from benchmarks.queues.work import Load, consume, create, front

SLOTS = range(CONSUMERS)
READY_SECONDS = 60.0
SETTLE_SECONDS = 1.5
"""From the last process that is ready to the first message; a listener may still be on its way."""


@dataclass(slots=True)
class Run:
    """One contender in one database."""

    name: str
    dsn: str
    server: Queues
    load: Load
    job: Callable[[Board, int], Job]
    context: SpawnContext
    board: Board
    consumers: dict[int, BaseProcess] = field(default_factory=dict)
    fronts: list[BaseProcess] = field(default_factory=list)

    def start_consumers(self, *places: int) -> None:
        """Start them in place of earlier ones of the same slots; returns when they are ready."""
        started = [self._spawn(consume, self.name, self.dsn, self.job(self.board, slot)) for slot in places]
        for slot, (process, ready) in zip(places, started, strict=True):
            self.consumers[slot] = process
            _wait(process, ready)

    def start_fronts(self) -> None:
        """Start them; they put nothing until the board says go."""
        started = [self._spawn(front, self.name, self.dsn, self.load, self.board, slot) for slot in range(FRONTS)]
        self.fronts = [process for process, _ in started]
        for process, ready in started:
            _wait(process, ready)

    def start_all(self) -> None:
        """Start consumers and fronts, and let them settle."""
        self.start_consumers(*SLOTS)
        self.start_fronts()
        time.sleep(SETTLE_SECONDS)

    def _spawn(self, target: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Any]:
        ready = self.context.Event()
        process = self.context.Process(target=target, args=(*arguments, ready), daemon=True)
        process.start()
        return process, ready

    def put_all(self) -> int:
        """Let the fronts put everything; returns the number of messages."""
        self.board.go.set()
        for process in self.fronts:
            process.join()
            if process.exitcode:
                raise RuntimeError(f"{self.name}: a front ended with code {process.exitcode}")
        return sum(self.board.put)

    def wait(self, done: Callable[[], bool], seconds: float) -> None:
        """Until it is done, or the time is over."""
        limit = time.monotonic() + seconds
        while not done() and time.monotonic() < limit:
            time.sleep(0.01)

    def stored(self) -> dict[int, int]:
        """How often each message's result is stored; nothing while the server is down."""
        try:
            rows = self.sql("select message, count(*) as times from results group by message")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return {}
        return {row["message"]: row["times"] for row in rows}

    def sql(self, statement: str) -> list[Any]:
        """The rows of a statement, through a connection of its own."""

        async def fetch() -> list[Any]:
            connection = await asyncpg.connect(self.dsn)
            try:
                return list(await connection.fetch(statement))
            finally:
                await connection.close()

        return asyncio.run(fetch())

    def spent(self) -> Spent:
        """What the server has spent."""

        async def gauge() -> Spent:
            connection = await asyncpg.connect(self.dsn)
            try:
                return await self.server.spent(connection)
            finally:
                await connection.close()

        return asyncio.run(gauge())


@contextmanager
def run(name: str, server: Queues, load: Load, job: Callable[[Board, int], Job]) -> Iterator[Run]:
    """A new database with the contender's tables; at the end all processes are killed."""
    context = multiprocessing.get_context("spawn")
    made = Run(name, server.fresh("queue"), server, load, job, context, new_board(context, load.messages))
    creating = context.Process(target=create, args=(name, made.dsn))
    creating.start()
    creating.join()
    if creating.exitcode:
        raise RuntimeError(f"{name}: no tables, code {creating.exitcode}")
    made.sql("create table results (message integer not null)")
    try:
        yield made
    finally:
        for process in (*made.consumers.values(), *made.fronts):
            process.kill()
            process.join()


def _wait(process: BaseProcess, ready: Any) -> None:
    limit = time.monotonic() + READY_SECONDS
    while not ready.wait(0.1):
        if not process.is_alive() or time.monotonic() > limit:
            raise RuntimeError(f"a process is not ready, code {process.exitcode}")

"""SQLite in a thread: steps that wait at the same time share one commit."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError

from storage.database.faults import STEP_ERRORS, fault
from storage.database.outside import Clear, Forget, OutsideChanges

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5000
SIZE = "select page_count * page_size from pragma_page_count(), pragma_page_size()"
"""Query for the file's size in bytes."""
MAX_LOG_BYTES = 8_000_000
"""The write-ahead log is copied into the database when it exceeds 1,000 pages (4 MB), and starts again. While another
program reads, it can't start again and grows; afterwards it is cut to this size."""
VERSION = "PRAGMA data_version"
"""Query for a number that changes when another connection has committed."""
MAX_BATCH = 64
DELAY_SECONDS = 0.05
"""Maximum wait of a step that is not urgent for another one's commit."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A step waiting for its transaction."""

    step: Callable[[Connection], Any]
    writes: bool
    future: asyncio.Future[Any]


log = logging.getLogger(__name__)

Result = tuple[_Job, Any, BaseException | None]


class SqliteDatabase:
    """Implements `storage.database.Database` with one connection and one thread, and one commit for all waiting steps.

    The async driver switches threads for every statement. With many chats at once, steps share a commit and each has
    its own savepoint. If a failure may have rolled back the whole batch, each step runs again alone.
    `synchronous=FULL` keeps acknowledged messages through a power cut. Writers use BEGIN IMMEDIATE: a transaction that
    reads first and writes later would fail at once despite the busy timeout.
    """

    def __init__(self, url: str) -> None:
        self._engine = create_engine(
            make_url(url).set(drivername="sqlite"),
            pool_size=1,
            max_overflow=0,
            pool_reset_on_return=None,
            hide_parameters=True,
        )
        event.listen(self._engine, "connect", prepare)
        self._outside = OutsideChanges()
        event.listen(self._engine, "connect", self._outside.reconnected)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
        self._waiting: list[_Job] = []
        self._again: deque[_Job] = deque()
        """Steps of a failed batch. They run first, one at a time."""
        self._timer: asyncio.TimerHandle | None = None
        """Set while only steps that are not urgent are waiting."""
        self._batch: asyncio.Future[list[Result]] | None = None

    async def write(self, step: Callable[[Connection], T], urgent: bool = True) -> T:
        return await self._run(step, writes=True, urgent=urgent)

    async def read(self, step: Callable[[Connection], T]) -> T:
        return await self._run(step, writes=False)

    def on_outside_change(self, clear: Clear, tables: Collection[str], forget: Forget | None = None) -> None:
        self._outside.listen(clear, tables, forget)

    async def _run(self, step: Callable[[Connection], T], writes: bool, urgent: bool = True) -> T:
        loop = asyncio.get_running_loop()
        job = _Job(step, writes, loop.create_future())
        self._waiting.append(job)
        if urgent:
            self._begin_batch()
        elif self._timer is None:
            self._timer = loop.call_later(DELAY_SECONDS, self._begin_batch)
        result: T = await job.future
        return result

    def _begin_batch(self) -> None:
        """Submit the waiting steps, also those that are not urgent. Steps that arrive before the thread begins share
        their transaction; later ones form the next batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._batch is not None or not (self._again or self._waiting):
            return
        jobs = [self._again.popleft()] if self._again else []
        self._batch = asyncio.get_running_loop().run_in_executor(self._thread, self._transact, jobs)
        self._batch.add_done_callback(partial(self._ended, jobs))

    def _ended(self, jobs: Sequence[_Job], batch: asyncio.Future[list[Result]]) -> None:
        """Set the results. If a batch of several steps failed, run them one by one: a full disk may have rolled back
        all of them."""
        self._batch = None
        self._outside.notify()
        failure = batch.exception()
        if failure is None:
            results = batch.result()
        elif len(jobs) == 1:
            unavailable = isinstance(failure, (DBAPIError, sqlite3.Error)) and not isinstance(failure, STEP_ERRORS)
            results = [(jobs[0], None, fault(failure) if unavailable else failure)]
        else:
            log.debug("Running %d steps again, one by one: %r", len(jobs), failure)
            self._again.extend(jobs)
            results = []
        self._begin_batch()
        for job, value, error in results:
            if job.future.done():  # the caller was cancelled; the commit stands
                continue
            if error is None:
                job.future.set_result(value)
            else:
                job.future.set_exception(error)

    def _transact(self, jobs: list[_Job]) -> list[Result]:
        """Run `jobs`, or if there are none, all steps that wait by now, in one transaction; `jobs` then lists them. If
        it raises, none has taken effect."""
        if not jobs:
            jobs += self._waiting[:MAX_BATCH]
            del self._waiting[: len(jobs)]  # the loop's thread only appends
        run = _run if len(jobs) == 1 else _in_savepoint
        with self._engine.connect() as connection, connection.begin():
            raw = _raw(connection)
            raw.execute("BEGIN IMMEDIATE" if any(job.writes for job in jobs) else "BEGIN")
            self._outside.check(raw.execute(VERSION).fetchone())
            return [run(connection, job) for job in jobs]

    async def size_bytes(self) -> int:
        return int(await self.read(lambda connection: connection.exec_driver_sql(SIZE).scalar_one()))

    async def close(self) -> None:
        if self._waiting:
            self._begin_batch()
        while self._batch is not None:
            await asyncio.wait({self._batch})
            await asyncio.sleep(0)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        await asyncio.to_thread(self._thread.shutdown)


def _raw(connection: Connection) -> sqlite3.Connection:
    """The driver's connection. SQLAlchemy would take ten times as long for a statement without values."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _run(connection: Connection, job: _Job) -> Result:
    return job, job.step(connection), None


def _in_savepoint(connection: Connection, job: _Job) -> Result:
    """Run one of several steps; its own error rolls back only this step."""
    if not job.writes:
        return _run(connection, job)
    raw = _raw(connection)
    raw.execute("SAVEPOINT step")
    try:
        result = _run(connection, job)
    except STEP_ERRORS as error:
        raw.execute("ROLLBACK TO step")
        result = job, None, error
    raw.execute("RELEASE step")
    return result


def prepare(connection: Any, _record: object) -> None:
    """Configure a new connection, with explicit transactions only."""
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")  # what is forgotten does not stay in free pages
    cursor.execute(f"PRAGMA journal_size_limit = {MAX_LOG_BYTES}")
    cursor.close()

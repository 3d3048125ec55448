"""Databases on SQLAlchemy's async engine: SQLite through aiosqlite, and what PostgreSQL has in common with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from routing.errors import CommitUnknown, StorageFault
from storage.database.faults import STEP_ERRORS, fault
from storage.database.outside import Clear, Forget, OutsideChanges
from storage.database.sqlite import DELAY_SECONDS, SIZE, VERSION, prepare

T = TypeVar("T")
RUNS = 3
"""Two transactions that waited for each other may do so once more."""
_DEADLOCK = "40P01"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A step that is not urgent."""

    step: Callable[[Connection], Any]
    future: asyncio.Future[Any]


class AsyncDatabase:
    """Implements `storage.database.Database`. Each step takes a connection from the pool."""

    def __init__(
        self, engine: AsyncEngine, size: str, version: str = "", begin: str = "", begin_writing: str = ""
    ) -> None:
        """`size` is a query for the database's size in bytes. `version`, run by each write, is a statement whose result
        changes when another process has committed. `begin` and `begin_writing` start transactions explicitly; with
        them, steps run one at a time. Without them, reads run in autocommit mode, and writes that are not urgent
        share a transaction."""
        self._engine = engine
        self._reading = engine if begin else engine.execution_options(isolation_level="AUTOCOMMIT")
        self._size = size
        self._version = version
        self._begin = begin
        self._begin_writing = begin_writing
        self._lock: AbstractAsyncContextManager[None] = asyncio.Lock() if begin else nullcontext()
        self._running: set[asyncio.Task[Any]] = set()
        self._waiting: list[_Waiting] = []
        self._outside = OutsideChanges()
        if begin:
            event.listen(engine.sync_engine, "connect", self._outside.reconnected)

    async def write(self, step: Callable[[Connection], T], urgent: bool = True) -> T:
        if urgent or self._begin:
            return await self._run(step, self._begin_writing, self._version)
        waiting = _Waiting(step, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if len(self._waiting) == 1:
            self._track(asyncio.create_task(self._write_waiting()))
        result: T = await waiting.future
        return result

    async def read(self, step: Callable[[Connection], T]) -> T:
        if self._begin:
            return await self._run(step, self._begin)
        return await self._transact(self._reading, step)

    def on_outside_change(self, clear: Clear, tables: Collection[str], forget: Forget | None = None) -> None:
        self._outside.listen(clear, tables, forget)

    async def _run(self, step: Callable[[Connection], T], begin: str, version: str = "") -> T:
        """Run a step. With explicit transactions it also ends if the caller is cancelled: an interrupted one would stay
        open and lock the file."""
        if not begin:
            return await self._transact(self._engine, step, version=version)
        running = asyncio.create_task(self._transact(self._engine, step, begin, version))
        self._track(running)
        return await asyncio.shield(running)

    def _track(self, running: asyncio.Task[Any]) -> None:
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _write_waiting(self) -> None:
        """After DELAY_SECONDS, run the steps that wait by then in one transaction. After an error of a step, run each
        in its own; if the database is unavailable, the transaction may be committed all the same."""
        await asyncio.sleep(DELAY_SECONDS)
        group, self._waiting = self._waiting, []
        together = self._run(lambda c: [each.step(c) for each in group], "", self._version)
        results: Any = (await asyncio.gather(together, return_exceptions=True))[0]
        if isinstance(results, StorageFault):
            results = [results] * len(group)
        elif isinstance(results, BaseException):
            results = await asyncio.gather(*(self.write(each.step) for each in group), return_exceptions=True)
        for waiting, result in zip(group, results, strict=True):
            if waiting.future.done():  # the caller was cancelled
                continue
            if isinstance(result, BaseException):
                waiting.future.set_exception(result)
            else:
                waiting.future.set_result(result)

    async def _transact(
        self, engine: AsyncEngine, step: Callable[[Connection], T], begin: str = "", version: str = ""
    ) -> T:
        def transaction(connection: Connection) -> T:
            if begin:
                connection.exec_driver_sql(begin)
            if version:
                self._outside.check(connection.exec_driver_sql(version).scalar())
            return step(connection)

        try:
            async with self._lock:
                return await _committed(engine, transaction)
        except STEP_ERRORS:
            raise
        except (DBAPIError, PoolTimeout, OSError) as error:
            raise fault(error) from error
        finally:
            self._outside.notify()

    async def size_bytes(self) -> int:
        return int(await self.read(lambda connection: connection.exec_driver_sql(self._size).scalar_one()))

    async def close(self) -> None:
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._engine.dispose()


async def _committed(engine: AsyncEngine, transaction: Callable[[Connection], T], runs: int = RUNS) -> T:
    """Run a transaction and commit it. If the server ends it before the commit, run it again."""
    async with engine.connect() as connection:
        try:
            done = await connection.run_sync(transaction)
        except DBAPIError as error:
            if runs == 1 or not _was_ended(error):
                raise
        else:
            await _commit(connection)
            return done
    return await _committed(engine, transaction, runs - 1)


async def _commit(connection: AsyncConnection) -> None:
    try:
        await connection.commit()
    except STEP_ERRORS:
        raise
    except (DBAPIError, OSError) as error:
        raise CommitUnknown(fault(error).reason) from error


def _was_ended(error: DBAPIError) -> bool:
    """Whether the connection is closed, as those that were open when the server restarted, or the transaction and
    another one waited for each other."""
    return error.connection_invalidated or getattr(error.orig, "sqlstate", "") == _DEADLOCK


def open_aiosqlite(url: URL) -> AsyncDatabase:
    """SQLite with the settings of `SqliteDatabase`, and one connection, to which all commits of others are outside
    changes. aiosqlite switches threads for every statement, so `sqlite://` is faster; `python -m benchmarks.databases`
    measures both."""
    engine = create_async_engine(url, pool_size=1, max_overflow=0, pool_reset_on_return=None, hide_parameters=True)
    event.listen(engine.sync_engine, "connect", prepare)
    return AsyncDatabase(engine, SIZE, VERSION, "BEGIN", "BEGIN IMMEDIATE")

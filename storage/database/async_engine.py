"""Databases on SQLAlchemy's async engine: PostgreSQL through asyncpg, SQLite through aiosqlite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar

from sqlalchemy import URL, Connection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from storage.database.faults import STEP_ERRORS, fault
from storage.database.sqlite import SIZE, prepare

T = TypeVar("T")
CONNECTIONS = 5


class AsyncDatabase:
    """Implements `storage.database.Database`. Each step takes a connection from the pool."""

    def __init__(self, engine: AsyncEngine, size: str, begin: str = "", begin_writing: str = "") -> None:
        """`size` is a query for the database's size in bytes. `begin` and `begin_writing` start transactions
        explicitly; with `begin_writing`, only one step writes at a time."""
        self._engine = engine
        self._size = size
        self._begin = begin
        self._begin_writing = begin_writing
        self._writer: AbstractAsyncContextManager[None] = asyncio.Lock() if begin_writing else nullcontext()

    async def write(self, step: Callable[[Connection], T], urgent: bool = True) -> T:
        async with self._writer:
            return await self._run(step, self._begin_writing)

    async def read(self, step: Callable[[Connection], T]) -> T:
        return await self._run(step, self._begin)

    async def _run(self, step: Callable[[Connection], T], begin: str) -> T:
        def transaction(connection: Connection) -> T:
            if begin:
                connection.exec_driver_sql(begin)
            return step(connection)

        try:
            async with self._engine.begin() as connection:
                return await connection.run_sync(transaction)
        except STEP_ERRORS:
            raise
        except (DBAPIError, PoolTimeout, OSError) as error:
            raise fault(error) from error

    async def size_bytes(self) -> int:
        return int(await self.read(lambda connection: connection.exec_driver_sql(self._size).scalar_one()))

    async def close(self) -> None:
        await self._engine.dispose()


def open_postgres(url: URL) -> AsyncDatabase:
    """PostgreSQL with a pool of CONNECTIONS."""
    engine = create_async_engine(url, pool_size=CONNECTIONS, pool_pre_ping=True)
    return AsyncDatabase(engine, "select pg_database_size(current_database())")


def open_aiosqlite(url: URL) -> AsyncDatabase:
    """SQLite with the settings of `SqliteDatabase`. aiosqlite switches threads for every statement, so `sqlite://` is
    faster; `python -m benchmarks.databases` measures both."""
    engine = create_async_engine(url, pool_size=CONNECTIONS, max_overflow=0, pool_reset_on_return=None)
    event.listen(engine.sync_engine, "connect", prepare)
    return AsyncDatabase(engine, SIZE, "BEGIN", "BEGIN IMMEDIATE")

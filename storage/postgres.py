"""PostgreSQL, for whoever has one already."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from storage.faults import OUR_OWN, fault

T = TypeVar("T")


class PostgresDatabase:
    """PostgreSQL through SQLAlchemy's async engine (asyncpg)."""

    def __init__(self, url: URL) -> None:
        self._engine = create_async_engine(url, pool_size=5, pool_pre_ping=True)

    async def write(self, step: Callable[[Connection], T]) -> T:
        try:
            async with self._engine.begin() as connection:
                return await connection.run_sync(step)
        except OUR_OWN:
            raise
        except (DBAPIError, OSError) as error:
            raise fault(error) from error

    async def read(self, step: Callable[[Connection], T]) -> T:
        return await self.write(step)

    async def size_bytes(self) -> int:
        question = "select pg_database_size(current_database())"
        return int(await self.read(lambda connection: connection.exec_driver_sql(question).scalar_one()))

    async def close(self) -> None:
        await self._engine.dispose()

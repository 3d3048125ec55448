"""One database, opened once: short transactions, each a plain function that runs off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from sqlalchemy import URL, Connection, create_engine, event, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError, SQLAlchemyError

from routing.errors import ConfigError, StorageFault

T = TypeVar("T")
BUSY_TIMEOUT_MS = 5000
_OUR_OWN = (IntegrityError, ProgrammingError, DataError)
"""What a step did wrong; anything else is the database's trouble."""


class Database(Protocol):
    """What the stores need: run `step` in one transaction, committed when it returns, undone if it raises.

    Raises StorageFault when the disk is full, the file locked or damaged, the server away.
    """

    async def write(self, step: Callable[[Connection], T]) -> T:
        """A transaction that may change things."""

    async def read(self, step: Callable[[Connection], T]) -> T:
        """A transaction that only looks."""

    async def size_bytes(self) -> int:
        """How much disk the data take."""

    async def close(self) -> None:
        """Give the connections back; waits for the step under way."""


class SqliteDatabase:
    """SQLite in a thread of its own, one connection, one hop for each transaction.

    The async driver hops between threads for every statement; measured here that is 1.4 ms of CPU for a
    transaction of one insert, this is 0.5 ms. Writers begin IMMEDIATE: a transaction that reads first and
    writes later would fail at once, in spite of the busy time-out. FULL keeps an acknowledged message
    through a power cut.
    """

    def __init__(self, url: str) -> None:
        self._engine = create_engine(
            make_url(url).set(drivername="sqlite"), pool_size=1, max_overflow=0, pool_reset_on_return=None
        )
        event.listen(self._engine, "connect", _prepare)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")

    async def write(self, step: Callable[[Connection], T]) -> T:
        return await self._run("BEGIN IMMEDIATE", step)

    async def read(self, step: Callable[[Connection], T]) -> T:
        return await self._run("BEGIN", step)

    async def _run(self, begin: str, step: Callable[[Connection], T]) -> T:
        job = asyncio.get_running_loop().run_in_executor(self._thread, self._transact, begin, step)
        return await asyncio.shield(job)

    def _transact(self, begin: str, step: Callable[[Connection], T]) -> T:
        try:
            with self._engine.connect() as connection, connection.begin():
                connection.exec_driver_sql(begin)
                return step(connection)
        except _OUR_OWN:
            raise
        except DBAPIError as error:
            raise _fault(error) from error

    async def size_bytes(self) -> int:
        question = "select page_count * page_size from pragma_page_count(), pragma_page_size()"
        return int(await self.read(lambda connection: connection.exec_driver_sql(question).scalar_one()))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        self._thread.shutdown()


class PostgresDatabase:
    """PostgreSQL through SQLAlchemy's async engine (asyncpg)."""

    def __init__(self, url: str) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        self._engine = create_async_engine(make_url(url), pool_size=5, pool_pre_ping=True)

    async def write(self, step: Callable[[Connection], T]) -> T:
        try:
            async with self._engine.begin() as connection:
                return await connection.run_sync(step)
        except _OUR_OWN:
            raise
        except (DBAPIError, OSError) as error:
            raise _fault(error) from error

    async def read(self, step: Callable[[Connection], T]) -> T:
        return await self.write(step)

    async def size_bytes(self) -> int:
        question = "select pg_database_size(current_database())"
        return int(await self.read(lambda connection: connection.exec_driver_sql(question).scalar_one()))

    async def close(self) -> None:
        await self._engine.dispose()


def open_database(url: str) -> Database:
    """The database behind an async SQLAlchemy URL of SQLite or PostgreSQL; ConfigError for any other."""
    return SqliteDatabase(url) if is_sqlite(parse_url(url)) else PostgresDatabase(url)


def parse_url(url: str) -> URL:
    """Read DATABASE_URL; ConfigError names what is accepted."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except SQLAlchemyError:
        backend = "?"
    if backend not in ("sqlite", "postgresql"):
        raise ConfigError(
            "DATABASE_URL must look like sqlite+aiosqlite:///path/to/tierbot.db "
            "or postgresql+asyncpg://user:password@host/name."
        )
    return parsed


def is_sqlite(url: URL) -> bool:
    """True for a file of our own."""
    return url.get_backend_name() == "sqlite"


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _fault(error: BaseException) -> StorageFault:
    return StorageFault(f"The database can't be used at the moment ({_said(error)}).")


def _said(error: BaseException) -> str:
    """The driver's own words on one line: around them stand the statement and its values, which are private."""
    words = str(error.orig if isinstance(error, DBAPIError) and error.orig else error)
    return " ".join(words.split())


def explain(error: BaseException, where: str) -> ConfigError:
    """Turn what a driver said about an unusable database into the owner's sentence."""
    text = _said(error)
    low = text.lower()
    if "malformed" in low or "not a database" in low:
        mend = "it is damaged; move it aside and put back a copy from the backups folder (nothing was changed)"
    elif "locked" in low or "busy" in low:
        mend = "another program holds it; close that program and start again"
    elif "full" in low or "no space" in low:
        mend = "the disk is full; free some space and start again (nothing was overwritten)"
    elif "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        mend = "it can't be written; make its folder writable for this user or set WORKSPACE to another folder"
    else:
        mend = "nothing was changed"
    return ConfigError(f"The database {where} can't be used ({text}): {mend}.")

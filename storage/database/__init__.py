"""The interface between the stores and a database, and opening a database from its URL."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import Protocol, TypeVar

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import SQLAlchemyError

from routing.errors import ConfigError

T = TypeVar("T")


class Database(Protocol):
    """Runs each `step` in one transaction: commits when it returns, rolls back if it raises.

    Raises StorageFault when the disk is full, the file is locked or damaged, or the server is unreachable.
    """

    async def write(self, step: Callable[[Connection], T], urgent: bool = True) -> T:
        """Run a step that may change data. If it is not urgent, it may wait 50 ms for another step's commit."""

    async def read(self, step: Callable[[Connection], T]) -> T:
        """Run a step that only reads."""

    def on_outside_change(
        self, clear: Callable[[], object], tables: Collection[str], forget: Callable[[int], object] | None = None
    ) -> None:
        """Keep a cache up to date with what other processes and connections commit, in the event loop.

        On SQLite, the next write notices any commit (on `sqlite://` also the next read), and clears before it returns.
        The first one always clears. PostgreSQL tells which row of these tables has changed: `forget` is called with its
        person's or conversation's id, see `storage.postgres_schema.WATCHED`; without an id, or if a change may have
        been missed, `clear`.
        """

    async def size_bytes(self) -> int:
        """Disk space used by the data."""

    async def close(self) -> None:
        """Finish the running step and close the connections."""


def open_database(url: str) -> Database:
    """Open the SQLite or PostgreSQL database at a SQLAlchemy URL. Raises ConfigError for other URLs."""
    parsed = parse_url(url)
    if parsed.drivername == "sqlite":
        from storage.database.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    if is_sqlite(parsed):
        from storage.database.async_engine import open_aiosqlite

        return open_aiosqlite(parsed)
    from storage.database.postgres import PostgresDatabase

    return PostgresDatabase(parsed)


def parse_url(url: str) -> URL:
    """Parse DATABASE_URL. Raises ConfigError naming the accepted forms."""
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError):
        parsed = make_url("unknown://")
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+asyncpg")
    if parsed.drivername == "postgresql+asyncpg" and find_spec("asyncpg") is None:
        raise ConfigError("DATABASE_URL names PostgreSQL, which needs the package asyncpg: pip install asyncpg.")
    if parsed.drivername not in ("sqlite", "sqlite+aiosqlite", "postgresql+asyncpg"):
        raise ConfigError(
            "DATABASE_URL must look like sqlite:///path/to/tierbot.db, sqlite+aiosqlite:///path/to/tierbot.db "
            "or postgresql+asyncpg://user:password@host/name."
        )
    if "@" in (parsed.host or ""):
        raise ConfigError("The password in DATABASE_URL has an @, which must be written as %40.")
    if "sslmode" in parsed.query:  # libpq's name of asyncpg's `ssl`
        parsed = parsed.update_query_dict({"ssl": parsed.query["sslmode"]}).difference_update_query(["sslmode"])
    return parsed


def shown(url: URL) -> str:
    """The address without its password."""
    return url.difference_update_query(["password"]).render_as_string()


def is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"

"""What the stores run their steps on, and which database a URL means."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol, TypeVar

from sqlalchemy import URL, Connection, make_url
from sqlalchemy.exc import SQLAlchemyError

from routing.errors import ConfigError

T = TypeVar("T")


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


def open_database(url: str) -> Database:
    """The database behind a SQLAlchemy URL of SQLite or PostgreSQL; ConfigError for any other."""
    parsed = parse_url(url)
    if parsed.drivername == "sqlite":
        from storage.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    from storage.async_engine import open_aiosqlite, open_postgres

    return open_aiosqlite(parsed) if is_sqlite(parsed) else open_postgres(parsed)


def parse_url(url: str) -> URL:
    """Read DATABASE_URL; ConfigError names what is accepted."""
    try:
        parsed = make_url(url)
    except SQLAlchemyError:
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
    return parsed


def is_sqlite(url: URL) -> bool:
    """True for a file of our own."""
    return url.get_backend_name() == "sqlite"

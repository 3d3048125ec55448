"""One connection to a database of either kind, outside of the bot's pool; its errors say what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import URL, Connection, ExceptionContext, NullPool, create_engine, event
from sqlalchemy.exc import DataError, IntegrityError

from routing.errors import ConfigError
from storage.database import is_sqlite, shown
from storage.database.faults import driver_message
from storage.database.sqlite import BUSY_TIMEOUT_MS, prepare
from storage.database.sqlite_copy import Mending

CONNECT_SECONDS = 10.0
"""Maximum wait for a server's first answer, and for the locks of others."""
AS_IT_WAS = "The old database is as it was, and the bot still uses it."
_REMEDIES = {
    "28P01": "check the user and the password in its address (%40 stands for an @ in the password)",
    "28000": "check the user in its address, and whether the server lets it in from here",
    "3D000": "create it first, for example with createdb",
    "42501": "its user must be allowed to create tables: GRANT CREATE ON SCHEMA public TO the user",
    "53100": "its disk is full; free some space there",
    "53300": "it has no connection left; close other programs",
    "55P03": "another move or migration uses it; wait until that is done",
    "database or disk is full": "its disk is full; free some space there",
    "locked": "another program uses it; stop that",
    "not a database": "it is damaged, or not a SQLite database; choose another file",
    "malformed": "it is damaged",
    "unable to open": "make its folder writable for this user",
    "readonly": "make it writable for this user",
    "Permission denied": "make it and its folder writable for this user",
    "Read-only file system": "choose a file on another disk",
    "Is a directory": "name a file in it",
    "File exists": "a part of its path is a file; choose another path",
    "Not a directory": "a part of its path is a file; choose another path",
}
"""What to do, by PostgreSQL's error code or the words of SQLite and the system."""
_UNREACHABLE = "check that the server runs, and that host, port and options in its address are right"


@asynccontextmanager
async def connected(url: URL, texts: Mending, writes: bool = False) -> AsyncIterator[Connection]:
    """A connection; ConfigErrors say what is wrong with this database. `texts` reads those of SQLite."""
    explained = partial(_explained, shown(url))
    if is_sqlite(url):
        engine = create_engine(url.set(drivername="sqlite"), poolclass=NullPool, hide_parameters=True)
        event.listen(engine, "handle_error", explained)
        event.listen(engine, "connect", partial(_set_up, texts, writes))
        try:
            opened_file = engine.connect()
        except sqlite3.Error as error:
            raise _explain(error, shown(url)) from error
        with opened_file:
            yield opened_file
        return
    from sqlalchemy.ext.asyncio import create_async_engine

    server = create_async_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": CONNECT_SECONDS}
    )
    event.listen(server.sync_engine, "handle_error", explained)
    try:
        opened = await server.connect()
    except (OSError, TypeError, ValueError) as error:  # the last two are for unknown options
        raise _explain(error, shown(url)) from error
    try:
        assert opened.sync_connection is not None
        yield opened.sync_connection
    finally:
        await opened.close()


@contextmanager
def new_file(url: URL) -> Iterator[Callable[[], object]]:
    """Create a SQLite file that only this user can read, unless it exists. It is deleted after the block, unless that
    calls what it gets. Does nothing for a server. Raises ConfigError."""
    kept: list[bool] = []
    path = Path(url.database or "")
    created = is_sqlite(url) and not path.exists()
    if is_sqlite(url):
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise _explain(error, shown(url)) from error
    try:
        yield lambda: kept.append(True)
    finally:
        if created and not kept:
            for ending in ("", "-wal", "-shm"):
                path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    with connection.begin():
        if not is_server(connection):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield


def is_server(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def address(connection: Connection) -> str:
    """Without the password."""
    return shown(connection.engine.url)


def _set_up(texts: Mending, writes: bool, connection: sqlite3.Connection, record: object) -> None:
    connection.text_factory = texts
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    if writes:
        prepare(connection, record)


def _explained(where: str, context: ExceptionContext) -> ConfigError | None:
    """None for Ctrl-C, and for values that don't fit, which belong to a table."""
    error = context.original_exception
    about_values = isinstance(context.sqlalchemy_exception, (DataError, IntegrityError))
    return None if about_values or not isinstance(error, Exception) else _explain(error, where)


def _explain(error: BaseException, where: str) -> ConfigError:
    words = driver_message(error) or f"no answer within {CONNECT_SECONDS:.0f} seconds"
    code = getattr(error, "sqlstate", None)
    fix = _REMEDIES.get(code or "") or next((fix for known, fix in _REMEDIES.items() if known in words), "")
    if not fix:
        fix = "ask the administrator of that server" if code else _UNREACHABLE
    return ConfigError(
        f"The database {where} can't be used ({words}): {fix}. Then run the same command again. {AS_IT_WAS}"
    )

"""Read-only inspection of a database, for `doctor`. Safe while the bot is running."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import URL, Connection, NullPool, create_engine, func, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from storage.database import is_sqlite, parse_url, shown
from storage.database.faults import explain
from storage.database.migrate import is_closed, known_revisions
from storage.database.sqlite import SIZE
from storage.schema import REVISION, inbox, outbox, people
from storage.unreadable import STATE

RevisionStatus = Literal["empty", "current", "older", "unknown"]


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """Result of an inspection. `corruption` is empty when SQLite's integrity check passed. Owners, dead replies and
    unreadable rows are counted only at the current revision."""

    revision: str
    status: RevisionStatus
    size_bytes: int
    corruption: str
    writable: bool
    owners: int = 0
    dead: int = 0
    unreadable: int = 0


async def look(url: str) -> DatabaseFacts | None:
    """Inspect a database; None if it does not exist yet. Raises ConfigError when it can't be read."""
    parsed = parse_url(url)
    try:
        if is_sqlite(parsed):
            return await asyncio.to_thread(_look_at_file, Path(parsed.database or ""))
        return await _look_at_server(parsed)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise explain(error, shown(parsed)) from error


def _look_at_file(path: Path) -> DatabaseFacts | None:
    if not path.is_file():
        return None
    facts = _read(path)
    if is_closed(path) or not facts.corruption:
        return facts
    # A process started writing between the check for the write-ahead log and the read.
    return _read(path)


def _read(path: Path) -> DatabaseFacts:
    address = f"{path.absolute().as_uri()}?{'immutable=1' if is_closed(path) else 'mode=ro'}"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, timeout=5.0)

    writable = os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)
    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    with engine.connect() as connection:
        verdict = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
        return _facts(connection, SIZE, "" if verdict == "ok" else verdict, writable)


async def _look_at_server(url: URL) -> DatabaseFacts:
    from sqlalchemy.ext.asyncio import create_async_engine

    def step(connection: Connection) -> DatabaseFacts:
        right = "select has_schema_privilege(current_schema(), 'CREATE') and not pg_is_in_recovery()"
        writable = bool(connection.exec_driver_sql(right).scalar())
        return _facts(connection, "select pg_database_size(current_database())", "", writable)

    engine = create_async_engine(url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": 5.0})
    try:
        async with engine.connect() as connection:
            await connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            return await connection.run_sync(step)
    finally:
        await engine.dispose()


def _facts(connection: Connection, size: str, corruption: str, writable: bool) -> DatabaseFacts:
    size_bytes = int(connection.exec_driver_sql(size).scalar_one())
    revision = ""
    if inspect(connection).has_table("alembic_version"):
        revision = str(connection.execute(text("select version_num from alembic_version")).scalar_one_or_none() or "")
    if revision != REVISION:
        status: RevisionStatus = "empty" if not revision else "older" if revision in known_revisions() else "unknown"
        return DatabaseFacts(revision, status, size_bytes, corruption, writable)
    owners = select(func.count()).select_from(people).where(people.c.role == "owner")
    dead = select(func.count()).select_from(outbox).where(outbox.c.state == "dead")
    aside = [select(func.count()).select_from(each).where(each.c.state == STATE) for each in (inbox, outbox)]
    owned, lost, *unreadable = [connection.execute(each).scalar_one() for each in (owners, dead, *aside)]
    return DatabaseFacts(revision, "current", size_bytes, corruption, writable, owned, lost, sum(unreadable))

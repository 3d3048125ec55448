"""Copies a database of either kind into a SQLite file, the form in which backups hold it."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine, insert
from sqlalchemy.exc import SQLAlchemyError

from routing.errors import NoDatabase
from storage.database import is_sqlite, parse_url, shown
from storage.database.faults import explain
from storage.database.migrate import create_tables, require_current_revision
from storage.database.sqlite_copy import Contents, OnStep, check, contents, copy, sync
from storage.database.tables import batches, last_ids, set_last_ids
from storage.schema import metadata


def snapshot(url: str, target: Path, on_step: OnStep = lambda: None) -> Contents:
    """Copy the database, as it is at one moment, to a new SQLite file while others use it. The copy is checked and
    synced; its rows are those of the database, with the same ids and numbers. On failure it leaves no file, and raises
    ConfigError, or OSError if the disk is full. Must not run in an event loop's thread."""
    parsed = parse_url(url)
    done = False
    try:
        found = _snapshot(url, target, on_step)
        done = True
        return found
    except (SQLAlchemyError, sqlite3.Error) as error:
        if "disk is full" in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise explain(error, shown(parsed)) from error
    finally:
        if not done:
            target.unlink(missing_ok=True)


def _snapshot(url: str, target: Path, on_step: OnStep) -> Contents:
    parsed = parse_url(url)
    if is_sqlite(parsed):
        source = Path(parsed.database or "")
        if not source.is_file():
            raise NoDatabase(f"There is no database at {source} yet, and a backup needs one: start the bot once.")
        copy(source, target, on_step)
    else:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        asyncio.run(_copy_server(url, target, on_step))
        check(target, on_step)
        sync(target)
    return contents(target)


async def _copy_server(url: str, target: Path, on_step: OnStep) -> None:
    """Copy every table within one REPEATABLE READ transaction."""
    from sqlalchemy.ext.asyncio import create_async_engine  # with SQLAlchemy's ORM: 7 MB

    engine = create_async_engine(
        parse_url(url), poolclass=NullPool, isolation_level="REPEATABLE READ", hide_parameters=True
    )
    try:
        async with engine.connect() as server:
            await server.exec_driver_sql("SET TRANSACTION READ ONLY")
            await server.run_sync(_copy_tables, target, on_step)
    finally:
        await engine.dispose()


def _copy_tables(server: Connection, target: Path, on_step: OnStep) -> None:
    require_current_revision(server)
    file = create_engine(f"sqlite:///{target}", poolclass=NullPool, hide_parameters=True)
    with file.begin() as writer:
        create_tables(writer)
        for table in metadata.sorted_tables:
            for batch in batches(server, table):
                writer.execute(insert(table), batch)
                on_step()
        set_last_ids(writer, last_ids(server))

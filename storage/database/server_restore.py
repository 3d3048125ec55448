"""Loads a SQLite copy into a PostgreSQL database in one transaction, and keeps what was there in another schema."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, NullPool, Table, create_engine, insert
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from routing.errors import ConfigError
from storage.database import parse_url, shown
from storage.database.faults import driver_message
from storage.database.migrate import create_tables, on_server
from storage.database.sqlite_copy import Mending, open_unused
from storage.database.tables import batches, count_rows, last_ids, own_tables, set_last_ids
from storage.schema import metadata

T = TypeVar("T")
LOCK_SECONDS = 10
"""Maximum wait for transactions of other programs."""
_MARK = "select obj_description(to_regclass('alembic_version'), 'pg_class')"


def load(url: str, source: Path, aside: str, mark: str) -> bool:
    """Replace our tables by those of a SQLite copy of the current revision. The old ones go into the new schema
    `aside`; returns whether there were any. `mark` is then what `loaded` returns. All of it happens or nothing.

    Raises ConfigError if a bot uses the database, or if it belongs to another program."""
    return _run(url, lambda connection: _load(connection, source, aside, mark))


def loaded(url: str) -> str:
    """The mark of the last `load`; empty if there was none."""
    return _run(url, lambda connection: str(connection.exec_driver_sql(_MARK).scalar() or ""))


def require_room(url: str) -> None:
    """Raise ConfigError for a database into which `load` can't restore."""
    _run(url, own_tables)


def _run(url: str, step: Callable[[Connection], T]) -> T:
    parsed = parse_url(url)
    try:
        return asyncio.run(on_server(parsed, step))
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        where = shown(parsed)
        words = f"The database {where} can't be used ({driver_message(error)}); nothing was changed."
        raise ConfigError(words) from error


def _load(connection: Connection, source: Path, aside: str, mark: str) -> bool:
    connection.exec_driver_sql(f"set local lock_timeout = '{LOCK_SECONDS}s'")
    old = own_tables(connection)
    if old:
        connection.exec_driver_sql(f'create schema "{aside}"')
        for name in old:
            connection.exec_driver_sql(f'alter table "{name}" set schema "{aside}"')
    create_tables(connection)
    file = create_engine("sqlite://", creator=lambda: _open(source), poolclass=NullPool, hide_parameters=True)
    with file.connect() as reader:
        for table in metadata.sorted_tables:
            _copy_rows(reader, connection, table)
        set_last_ids(connection, last_ids(reader))
    connection.exec_driver_sql(f"comment on table alembic_version is '{mark}'")
    return bool(old)


def _open(source: Path) -> sqlite3.Connection:
    """Open the copy so that it can be read completely: old rows may have damaged texts."""
    connection = open_unused(source)
    connection.text_factory = Mending()
    return connection


def _copy_rows(reader: Connection, connection: Connection, table: Table) -> None:
    for batch in batches(reader, table):
        try:
            connection.execute(insert(table), batch)
        except DBAPIError as error:
            words = f"The table {table.name} can't be restored into this database ({driver_message(error)})"
            raise ConfigError(f"{words}; nothing was changed.") from error
    if count_rows(connection, table) != count_rows(reader, table):
        raise ConfigError(f"The table {table.name} was not restored completely; nothing was changed.")

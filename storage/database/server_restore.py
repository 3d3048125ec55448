"""Loads a SQLite copy into a PostgreSQL database in one transaction, and keeps what was there in another schema."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, NullPool, Table, create_engine, func, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from routing.errors import ConfigError
from storage.database import parse_url
from storage.database.faults import driver_message
from storage.database.migrate import create_tables, on_server
from storage.database.snapshot import ROWS, SEQUENCE, WRITERS, with_lasting_ids
from storage.database.sqlite_copy import open_unused
from storage.schema import metadata

T = TypeVar("T")
LOCK_SECONDS = 10
"""Maximum wait for transactions of other programs."""
_OURS = {"alembic_version", "people", "identities"}
"""A database with these tables is one of ours, of any version."""
_USERS = text(
    f"select count(*) from state, pg_stat_activity where key like '{WRITERS}%' and pid <> pg_backend_pid() "
    "and split_part(key, ' ', 3) = pid::text"
)
"""Query for the number of connections of running bots."""
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
    _run(url, _existing)


def _run(url: str, step: Callable[[Connection], T]) -> T:
    parsed = parse_url(url)
    try:
        return asyncio.run(on_server(parsed, step))
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        where = parsed.render_as_string(hide_password=True)
        words = f"The database {where} can't be used ({driver_message(error)}); nothing was changed."
        raise ConfigError(words) from error


def _existing(connection: Connection) -> list[str]:
    """Our tables in this database; none in an empty one. Raises ConfigError."""
    names = set(inspect(connection).get_table_names())
    if names and not names >= _OURS:
        raise ConfigError(
            f"The database {connection.engine.url.render_as_string()} holds tables of another program: restore into an "
            "empty database. Nothing was changed."
        )
    if "state" in names and connection.execute(_USERS).scalar_one():
        raise ConfigError("A running tierbot uses this database: stop it first. Nothing was changed.")
    return sorted(names & {*metadata.tables, "alembic_version"})


def _load(connection: Connection, source: Path, aside: str, mark: str) -> bool:
    connection.exec_driver_sql(f"set local lock_timeout = '{LOCK_SECONDS}s'")
    old = _existing(connection)
    if old:
        connection.exec_driver_sql(f'create schema "{aside}"')
        for name in old:
            connection.exec_driver_sql(f'alter table "{name}" set schema "{aside}"')
    create_tables(connection)
    file = create_engine("sqlite://", creator=lambda: _open(source), poolclass=NullPool, hide_parameters=True)
    with file.connect() as reader:
        for table in metadata.sorted_tables:
            _copy_rows(reader, connection, table)
    with closing(open_unused(source)) as raw:
        last = dict(raw.execute("select name, seq from sqlite_sequence").fetchall())
    lasting = with_lasting_ids()
    for table in metadata.sorted_tables:
        if "id" in table.c:
            _set_next_id(connection, table, int(last.get(table.name, 0)) if table in lasting else 0)
    connection.exec_driver_sql(f"comment on table alembic_version is '{mark}'")
    return bool(old)


def _open(source: Path) -> sqlite3.Connection:
    """Open the copy so that it can be read completely: damaged texts of old rows, which PostgreSQL can't store, are
    replaced."""
    connection = open_unused(source)
    connection.text_factory = lambda data: data.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return connection


def _copy_rows(reader: Connection, connection: Connection, table: Table) -> None:
    rows = reader.execution_options(yield_per=ROWS).execute(select(table)).mappings()
    for batch in rows.partitions(ROWS):
        try:
            connection.execute(insert(table), [dict(row) for row in batch])
        except DBAPIError as error:
            words = f"The table {table.name} can't be restored into this database ({driver_message(error)})"
            raise ConfigError(f"{words}; nothing was changed.") from error
    copied = connection.execute(select(func.count()).select_from(table)).scalar_one()
    if copied != reader.execute(select(func.count()).select_from(table)).scalar_one():
        raise ConfigError(f"The table {table.name} was not restored completely; nothing was changed.")


def _set_next_id(connection: Connection, table: Table, last: int) -> None:
    """Let new ids begin after `last` and after the highest one in the table."""
    sequence = connection.execute(SEQUENCE, {"name": table.name}).scalar_one()
    highest = connection.execute(select(func.max(table.c.id))).scalar_one() or 0
    last = max(last, highest)
    values = {"sequence": sequence, "last": max(last, 1), "used": last > 0}
    connection.execute(text("select setval(:sequence, :last, :used)"), values)

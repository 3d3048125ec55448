"""Our tables in a database of either kind: which there are, their rows, and the ids that were used last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from sqlalchemy import Connection, Table, func, inspect, select, text

from routing.errors import ConfigError
from storage.database import shown
from storage.postgres_schema import APPLICATION, DEAD_SECONDS
from storage.schema import metadata

ROWS = 500
"""Rows in memory while a database is read or written."""
_OURS = {"alembic_version", "people", "identities"}
"""A database with these tables is one of ours, of any version."""
_HEARING = text(
    f"select count(*) from pg_stat_activity where datname = current_database() and application_name = '{APPLICATION}'"
)
"""Query for the number of running bots, by their connections."""
_BEATING = text(
    f"select count(*) from processes where beat_at > extract(epoch from clock_timestamp()) - {DEAD_SECONDS}"
)
"""The same by their heartbeats, which begin a moment before."""
_SEQUENCE = text("select pg_get_serial_sequence(quote_ident(:name), 'id')")
"""Query for the sequence of a table's ids."""


def own_tables(connection: Connection) -> list[str]:
    """Our tables in this database; none in an empty one. Raises ConfigError if a bot uses a PostgreSQL database, or if
    it belongs to another program."""
    names = set(inspect(connection).get_table_names())
    if names and not names >= _OURS:
        raise ConfigError(
            f"The database {shown(connection.engine.url)} holds tables of another program: choose an empty "
            "one. Nothing was changed."
        )
    if _is_in_use(connection, names):
        raise ConfigError("A running tierbot uses this database: stop it first. Nothing was changed.")
    return sorted(names & {*metadata.tables, "alembic_version"})


def _is_in_use(connection: Connection, names: Set[str]) -> bool:
    if connection.dialect.name != "postgresql":
        return False
    queries = (_HEARING, _BEATING) if "processes" in names else (_HEARING,)
    return any(connection.execute(query).scalar_one() for query in queries)


def has_rows(connection: Connection) -> bool:
    """Whether there is anything of a bot."""
    return any(connection.execute(select(table).limit(1)).first() is not None for table in metadata.sorted_tables)


def count_rows(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def batches(connection: Connection, table: Table, skip: int = 0) -> Iterator[list[dict[str, Any]]]:
    """The rows in the order of their key, without the first ones. Claims come with the processes that hold them: after
    some seconds, these count as dead."""
    query = select(table).order_by(*table.primary_key).execution_options(yield_per=ROWS)
    if skip:
        query = query.offset(skip)
    for batch in connection.execute(query).mappings().partitions(ROWS):
        yield [dict(row) for row in batch]


def last_ids(connection: Connection) -> Mapping[str, int]:
    """The last id that was used, by table, where ids are never used again; its row may have been deleted."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("select name, seq from sqlite_sequence")
        return {name: int(last) for name, last in rows}
    found = {}
    for table in metadata.sorted_tables:
        if not table.dialect_options["sqlite"]["autoincrement"]:
            continue
        row = connection.exec_driver_sql(f"select last_value, is_called from {_sequence(connection, table)}").one()
        if row.is_called:
            found[table.name] = int(row.last_value)
    return found


def set_last_ids(connection: Connection, last: Mapping[str, int]) -> None:
    """Let new ids begin after these, and after the highest one in each table."""
    if connection.dialect.name == "sqlite":
        for name, number in last.items():
            values = {"name": name, "last": number}
            connection.execute(text("delete from sqlite_sequence where name = :name"), values)
            connection.execute(text("insert into sqlite_sequence (name, seq) values (:name, :last)"), values)
        return
    for table in metadata.sorted_tables:
        if "id" in table.c:
            highest = connection.execute(select(func.max(table.c.id))).scalar_one() or 0
            used = max(last.get(table.name, 0), highest)
            values = {"sequence": _sequence(connection, table), "last": max(used, 1), "used": used > 0}
            connection.execute(text("select setval(:sequence, :last, :used)"), values)


def _sequence(connection: Connection, table: Table) -> str:
    return str(connection.execute(_SEQUENCE, {"name": table.name}).scalar_one())

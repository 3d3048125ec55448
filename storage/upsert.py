"""Rows that several processes may insert at the same moment: each in one statement, so that none of them fails.

Written as text, because SQLAlchemy has these statements only per dialect, and PostgreSQL's takes 2 MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Column, Connection, Table, TextClause, bindparam, text


def upsert(connection: Connection, table: Table, row: Mapping[str, object]) -> None:
    """Insert a row, or if its primary key exists, set the other columns of `row`."""
    changed = tuple(name for name in row if not table.c[name].primary_key)
    connection.execute(_statement(table, changed), {**_with_defaults(table), **row})


def insert_if_new(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row, unless its primary key exists. False if it does; the next statement sees that row."""
    return connection.execute(_statement(table, ()), {**_with_defaults(table), **row}).rowcount == 1


@cache
def _statement(table: Table, changed: tuple[str, ...]) -> TextClause:
    columns = ", ".join(f'"{column.name}"' for column in table.c)
    values = ", ".join(f":{column.name}" for column in table.c)
    key = ", ".join(f'"{column.name}"' for column in table.primary_key)
    new = ", ".join(f'"{name}" = excluded."{name}"' for name in changed)
    conflict = f"on conflict ({key}) do update set {new}" if changed else f"on conflict ({key}) do nothing"
    typed = [bindparam(column.name, type_=column.type) for column in table.c]
    return text(f'insert into "{table.name}" ({columns}) values ({values}) {conflict}').bindparams(*typed)


@cache
def _with_defaults(table: Table) -> dict[str, object]:
    return {column.name: _default(column) for column in table.c}


def _default(column: Column[object]) -> object:
    return getattr(column.default, "arg", None)

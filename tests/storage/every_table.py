"""A row in every table, made from the schema."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Connection, Float, LargeBinary, Table, insert, select

from storage.schema import metadata

EXACT = 1764288000.1234567
"""A time whose last digit a float of 4 bytes, or a rounded text, would lose."""
LARGE = 2**62 + 1
"""A number that a float of 8 bytes would round."""


def row(table: Table, number: int, text: str, **known: object) -> dict[str, Any]:
    """A value for each column, as long as it may be; `known` are the columns' own values."""
    values: dict[str, Any] = {}
    for column in table.c:
        if column.name in known:
            values[column.name] = known[column.name]
        elif column.name == "id" or column.foreign_keys:
            values[column.name] = number
        elif isinstance(column.type, Boolean):
            values[column.name] = True
        elif isinstance(column.type, LargeBinary):
            values[column.name] = bytes(range(256))
        elif isinstance(column.type, Float):
            values[column.name] = EXACT
        elif column.type.python_type is int:
            values[column.name] = LARGE if "nano" in column.name else number
        else:
            values[column.name] = f"{text} {number}"[: getattr(column.type, "length", None)]
    return values


def fill(connection: Connection, count: int, text: str = "Ünï 🎉 \"'\\\n") -> None:
    """Add `count` rows to every table; what is nullable is empty in every second one."""
    for table in metadata.sorted_tables:
        rows = [row(table, number, text) for number in range(1, count + 1)]
        for each in rows[::2]:
            each |= {column.name: None for column in table.c if column.nullable}
        connection.execute(insert(table), rows)


def everything(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in order."""
    found = {}
    for table in metadata.sorted_tables:
        rows = connection.execute(select(table).order_by(*table.primary_key)).all()
        found[table.name] = [tuple(each) for each in rows]
    return found

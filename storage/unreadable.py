"""Sets damaged rows aside, so that they do not block the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Table, select, update
from sqlalchemy.exc import OperationalError

STATE = "unreadable"
T = TypeVar("T")

log = logging.getLogger(__name__)


def set_aside(
    connection: Connection, table: Table, waiting: ColumnElement[bool], read: Callable[[Row[Any]], object]
) -> int:
    """Set the state of waiting rows for which `read` raises ValueError to "unreadable". Returns their number."""
    try:
        broken = [row.id for row in connection.execute(select(table).where(waiting)) if not _readable(row, read)]
    except OperationalError as error:
        if "decode" not in str(error.orig):
            raise
        broken = _one_by_one(connection, table, waiting, read)
    for row_id in broken:
        _set_aside(connection, table, row_id)
    return len(broken)


def readable(connection: Connection, table: Table, rows: Iterable[Row[Any]], read: Callable[[Row[Any]], T]) -> list[T]:
    """What `read` makes of these rows. Those for which it raises ValueError are set aside."""
    found = []
    for row in rows:
        try:
            found.append(read(row))
        except ValueError:
            _set_aside(connection, table, row.id)
    return found


def _set_aside(connection: Connection, table: Table, row_id: int) -> None:
    log.error("Row %d of %s can't be read; setting it aside", row_id, table.name)
    connection.execute(update(table).where(table.c.id == row_id).values(state=STATE))


def _one_by_one(
    connection: Connection, table: Table, waiting: ColumnElement[bool], read: Callable[[Row[Any]], object]
) -> list[int]:
    """Check row by row: SQLite can store invalid UTF-8, and one such row makes the whole query fail."""
    broken = []
    for row_id in connection.execute(select(table.c.id).where(waiting)).scalars().all():
        try:
            if not _readable(connection.execute(select(table).where(table.c.id == row_id)).one(), read):
                broken.append(row_id)
        except OperationalError:
            broken.append(row_id)
    return broken


def _readable(row: Row[Any], read: Callable[[Row[Any]], object]) -> bool:
    try:
        read(row)
    except ValueError:
        return False
    return True

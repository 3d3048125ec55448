"""Changes of what waits in the inbox and the outbox: of several processes, only the one that handles a row may make
them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Update, bindparam

from routing.types.lease import Lease

Values = dict[str, Any]


def change_own(connection: Connection, change: Update, rows: Sequence[Values], lease: Lease | None) -> None:
    """Make the change with the values of each row. Raises LeaseLost if another process handles one of them by now."""
    if lease is None:
        connection.execute(change, rows)
        return
    for row in rows:
        if connection.execute(_fenced(change), _own(row, lease)).rowcount == 0:
            raise lease.fail()


def change_if_own(connection: Connection, change: Update, row: Values, lease: Lease | None) -> None:
    """Make the change, unless another process handles the row by now."""
    if lease is None:
        connection.execute(change, row)
    else:
        connection.execute(_fenced(change), _own(row, lease))


def _own(row: Values, lease: Lease) -> Values:
    """The values of a change that is restricted to this process."""
    return {**row, "own_id": lease.process_id}


@cache
def _fenced(change: Update) -> Update:
    return change.where(change.table.c.worker == bindparam("own_id"))

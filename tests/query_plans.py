"""Fails a test if a statement of the stores reads all of a table that grows."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event

from storage import schema

STORAGE = Path(schema.__file__).parent
_STORAGE, _DRIVERS = f"{STORAGE}{os.sep}", f"{STORAGE / 'database'}{os.sep}"
SMALL = {
    "links": "the codes of ten minutes: each new one deletes those that have expired",
    "pairings": "at most 30 requests wait (MAX_WAITING in handlers/access/roles.py)",
}
"""The tables that do not grow, and why."""
GROWING = tuple(sorted(schema.metadata.tables.keys() - SMALL.keys()))
_SCAN = re.compile(rf"\bSCAN ({'|'.join(GROWING)})\b")


MAY_SCAN: Mapping[str, Mapping[str, str]] = {
    "turns": {
        r"SELECT count.+ FROM \(SELECT .+ FROM turns WHERE turns.source != \? ORDER BY turns\.id DESC LIMIT .+": (
            "ends after the newest few"
        ),
    },
    "usage": {
        r"SELECT \w+\.seconds FROM \(SELECT .+ FROM usage ORDER BY usage\.id DESC LIMIT \? OFFSET \?\) AS .+": (
            "ends after the newest calls"
        ),
    },
    "audit": {
        r"SELECT .+ FROM audit ORDER BY audit\.id DESC LIMIT .+": "ends after the newest entries",
        r"SELECT .+ FROM audit WHERE \(audit\.actor LIKE .+": "when a person is forgotten",
    },
    "people": {
        r"SELECT .+ FROM people ORDER BY people\.id LIMIT .+": "a page, or all people to look for a name",
        r"SELECT .+ FROM identities JOIN people ON .+ WHERE people\.role = \? ORDER BY people\.id": (
            "the owners, for a notice"
        ),
        r"SELECT count\(\*\) AS count_1 FROM people.*": "the admin page counts people",
        r"SELECT .+ FROM people.* ORDER BY people\.id DESC LIMIT .+": "a page of the admin page's list",
        r"SELECT people\.role, count\(\*\) AS n FROM people GROUP BY people\.role": "the admin page",
        r"SELECT .+ FROM people LEFT OUTER JOIN .+ AS anon_1 .+ WHERE EXISTS .+ LIMIT .+": (
            "the admin page's list of reminders by time"
        ),
    },
    "identities": {
        r"SELECT .+ FROM identities WHERE identities\.username != \?": "looks for a name",
    },
    "outbox": {
        r"SELECT outbox\.id, outbox\.payload FROM outbox WHERE \(outbox\.payload LIKE [^)]+\)": (
            "a week of replies, when two people become one"
        ),
        r"SELECT outbox\.id, outbox\.state, outbox\.payload, .+ AS private FROM outbox WHERE .+": (
            "a week of replies, when a person is forgotten"
        ),
    },
    "actions": {
        r"DELETE FROM actions WHERE actions\.expires_at < \?": "once an hour; a week of confirmations",
        r"SELECT actions\.files FROM actions WHERE actions\.files != \?": "once an hour; a week of confirmations",
    },
    "budgets": {
        r"SELECT .+ FROM budgets ORDER BY budgets\.id": "people with limits of their own, once after a change",
    },
    "connect_steps": {
        r"SELECT .+ FROM connect_steps": "a week of unfinished steps, once after a change",
        r"DELETE FROM connect_steps WHERE connect_steps\.expires_at < \?": "once an hour; a week of unfinished steps",
    },
    "service_accounts": {
        r"SELECT service_accounts\.id, service_accounts\.sealed FROM service_accounts": (
            "once after a start with several keys"
        ),
        r"SELECT service_accounts\.kind, count.+ GROUP BY .+": "the admin page counts accounts",
    },
    "state": {
        r"SELECT .+ FROM state WHERE \(state\.\"key\" LIKE [^)]+\)": (
            "files that wait for a move, after a start or a link; a short row a person"
        ),
    },
    "schedules": {
        r"SELECT .+ FROM people LEFT OUTER JOIN .+ WHERE EXISTS .+ LIMIT .+": (
            "the admin page's list of reminders by time"
        ),
    },
    "vectors": {
        r"SELECT vectors\.encoder, vectors\.hash FROM vectors": "once after the start",
    },
}
"""Statements that may read all of a growing table, as patterns for all of the statement, and why; by table."""


def scanned(connection: sqlite3.Connection, statement: str, values: Any) -> list[str]:
    """The growing tables that SQLite would read as a whole, but for those that this statement may read."""
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
    tables = [found[1] for row in plan if (found := _SCAN.search(row[3]))]
    in_one_line = " ".join(statement.split())
    return [table for table in tables if not any(re.fullmatch(each, in_one_line) for each in MAY_SCAN.get(table, ()))]


class QueryPlans:
    """Collects the statements of the stores, each once, and explains them on an empty database with our schema."""

    def __init__(self, is_store: Callable[[str], bool] | None = None) -> None:
        """`is_store` tells whether a file is part of a store."""
        self._is_store = is_store or is_part_of_a_store
        engine = create_engine("sqlite://")
        schema.metadata.create_all(engine)
        empty = engine.raw_connection().driver_connection
        assert isinstance(empty, sqlite3.Connection)
        self._empty = empty
        self._known: set[str] = set()
        self._new: dict[str, Any] = {}

    def note(self, _c: object, _cursor: object, statement: str, values: Any, context: Any, many: bool) -> None:
        if statement not in self._known and context.dialect.name == "sqlite" and _called_from(self._is_store):
            self._known.add(statement)
            self._new[statement] = values[0] if isinstance(values, list) else values

    def check(self) -> None:
        """Explain what is new."""
        new, self._new = self._new, {}
        found = [
            f"SCAN {table}: {statement}"
            for statement, values in new.items()
            if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
            for table in scanned(self._empty, statement, values)
        ]
        if found:
            raise AssertionError("add an index, or a reason to tests/query_plans.py:\n" + "\n".join(found))


def is_part_of_a_store(file: str) -> bool:
    """Whether a source file is in `storage` or any of its folders but that of the drivers."""
    return file.startswith(_STORAGE) and not file.startswith(_DRIVERS)


def _called_from(is_store: Callable[[str], bool]) -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if is_store(frame.f_code.co_filename):
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


@pytest.fixture(scope="session")
def query_plans() -> Iterator[QueryPlans]:
    plans = QueryPlans()
    event.listen(Engine, "before_cursor_execute", plans.note)
    yield plans
    event.remove(Engine, "before_cursor_execute", plans.note)


@pytest.fixture(autouse=True)
def no_growing_table_is_scanned(query_plans: QueryPlans) -> Iterator[None]:
    yield
    query_plans.check()

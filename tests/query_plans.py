"""Fails a test if a statement of the stores reads all of a table that grows."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event

from storage import schema

STORAGE = Path(schema.__file__).parent
STORES = [STORAGE, STORAGE / "usage"]
GROWING = (
    *("usage", "turns", "messages", "conversations", "summaries", "inbox", "outbox", "pieces", "audit", "actions"),
    *("usage_hours", "turn_hours", "people", "identities", "vectors"),
)
_SCAN = re.compile(rf"\bSCAN ({'|'.join(GROWING)})\b")
MAY_SCAN: Mapping[str, str] = {
    r"FROM turns \nWHERE turns.source != \? ORDER BY turns.id DESC\n LIMIT": "ends after the newest few",
    r"FROM usage ORDER BY usage.id DESC\n LIMIT": "ends after the newest calls",
    r"FROM audit ORDER BY audit.id DESC\n LIMIT": "ends after the newest entries",
    r"FROM people ORDER BY people.id\n LIMIT": "a page, or all people to look for a name",
    r"FROM identities \nWHERE identities.username != ''|identities.username != \?$": "looks for a name",
    r"people.role = ": "the owners, for a notice",
    r"FROM people JOIN \(SELECT|JOIN people ON anon_1.person_id": "people with usage in the period",
    r"FROM outbox \nWHERE \(outbox.payload LIKE": "a week of replies, when two people become one",
    r"DELETE FROM actions WHERE": "once an hour; a week of confirmations",
    r"SELECT vectors.encoder, vectors.hash \nFROM vectors": "once after the start",
}
"""Statements that may scan, as patterns, each with the reason."""


def scans(connection: sqlite3.Connection, statement: str, values: Any) -> str:
    """The part of the plan that reads a whole growing table; empty if there is none."""
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    return next((step for step in plan if _SCAN.search(step)), "")


class QueryPlans:
    """Collects the statements of the stores, each once, and explains them on an empty database with our schema."""

    def __init__(self) -> None:
        engine = create_engine("sqlite://")
        schema.metadata.create_all(engine)
        self._empty = engine.raw_connection()
        self._known: set[str] = set()
        self._new: dict[str, Any] = {}

    def note(self, _c: object, _cursor: object, statement: str, values: Any, context: Any, many: bool) -> None:
        if statement not in self._known and context.dialect.name == "sqlite" and _from_a_store():
            self._known.add(statement)
            self._new[statement] = values[0] if isinstance(values, list) else values

    def check(self) -> None:
        """Explain what is new."""
        new, self._new = self._new, {}
        explained = {
            statement: scans(self._empty.driver_connection, statement, values)  # type: ignore[arg-type]
            for statement, values in new.items()
            if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
        }
        found = [f"{step}: {statement}" for statement, step in explained.items() if step and not _may_scan(statement)]
        if found:
            raise AssertionError("add an index, or a reason to tests/query_plans.py:\n" + "\n".join(found))


def _may_scan(statement: str) -> bool:
    return any(re.search(pattern, statement) for pattern in MAY_SCAN)


def _from_a_store() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if Path(frame.f_code.co_filename).parent in STORES:
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

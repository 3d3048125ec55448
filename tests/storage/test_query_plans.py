"""Turns and reports use indexes, however much one person has written.

tests/query_plans.py checks every statement that a store executes in any test of the stores and in any story."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, event, select

from benchmarks.databases import opened
from benchmarks.large_database import fill
from routing.types.budgets import days
from storage import schema
from storage.stores import Stores
from tests.query_plans import GROWING, MAY_SCAN, SMALL, STORAGE, QueryPlans, is_part_of_a_store

NOW = 1_750_000_000.0
ROWS = re.compile(r"\(\w+_id=\? AND (tier=\? AND model=\? AND )?at>\?")


@pytest.fixture
def own_plans() -> Iterator[QueryPlans]:
    """Takes this file for a store."""
    plans = QueryPlans(lambda file: file == __file__)
    event.listen(Engine, "before_cursor_execute", plans.note)
    yield plans
    event.remove(Engine, "before_cursor_execute", plans.note)


async def test_a_statement_that_reads_a_whole_growing_table_is_found(tmp_path: Path, own_plans: QueryPlans) -> None:
    stores, _, _ = await opened("sqlite", tmp_path)
    scan = select(schema.messages.c.text).where(schema.messages.c.turn_id == "a turn")
    await stores.database.read(lambda c: c.execute(scan).all())
    with pytest.raises(AssertionError, match="SCAN messages"):
        own_plans.check()
    await stores.database.close()


def test_the_statements_of_every_store_are_checked() -> None:
    using = re.compile(r"\b_?database\.(read|write)\(")
    stores = [file for file in STORAGE.rglob("*.py") if using.search(file.read_text())]
    assert {file.parent.name for file in stores} >= {"storage", "people", "usage"}
    assert [file for file in stores if not is_part_of_a_store(str(file))] == []


def test_every_small_table_exists() -> None:
    """The others grow, also new ones."""
    assert set(SMALL) | set(GROWING) == schema.metadata.tables.keys()
    assert set(MAY_SCAN) <= set(GROWING)


def test_every_reference_between_tables_has_an_index() -> None:
    """Without one, deleting a person reads every row of the other table; EXPLAIN does not show that."""
    for table in schema.metadata.tables.values():
        indexed = {next(iter(index.columns)).name for index in table.indexes} | {next(iter(table.primary_key)).name}
        assert {key.parent.name for key in table.foreign_keys} <= indexed, table.name


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[tuple[Stores, dict[str, Any]]]:
    """Stores with one person, and every later query with its values."""
    stores, _, _ = await opened("sqlite", tmp_path)
    await stores.database.write(
        lambda c: [c.execute(table.delete()) for table in reversed(schema.metadata.sorted_tables)]
    )
    await stores.database.write(lambda c: fill(c, 1_000, NOW))
    asked: dict[str, Any] = {}

    @event.listens_for(Engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, values: Any, _context: object, many: bool) -> None:
        if statement.startswith("SELECT"):
            asked[statement] = values[0] if many else values

    yield stores, asked
    event.remove(Engine, "before_cursor_execute", note)
    await stores.database.close()


async def test_reports_use_the_hourly_sums(kept: tuple[Stores, dict[str, Any]], tmp_path: Path) -> None:
    """Single rows are read only for the hours at both ends and for the newest turns with durations."""
    stores, asked = kept
    await stores.usage.by_model(person_id=1, since=NOW - 86_400.0)
    await stores.usage.by_model(conversation_id=1)
    await stores.spending.by_day(days(NOW, 30, ZoneInfo("Asia/Kathmandu")), 1)
    await stores.spending.by_tier(NOW - 86_400.0, 1)
    await stores.turns.by_tier(NOW - 86_400.0, person_id=1)
    with sqlite3.connect(tmp_path / "sqlite.db") as connection:
        found = [
            "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))
            for statement, values in asked.items()
        ]
    assert len(found) > 4
    rows = [plan for plan in found if "SEARCH usage USING" in plan or "SEARCH turns USING" in plan]
    assert rows
    assert all(ROWS.search(plan) for plan in rows)
    hours = [plan for plan in found if "_hours USING" in plan]
    assert hours
    assert all(re.search(r"_hours USING INDEX \w+ \((person|conversation)_id=\?", plan) for plan in hours)

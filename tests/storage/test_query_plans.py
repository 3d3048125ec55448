"""Turns and reports use indexes, however much one person has written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, event

from benchmarks.databases import HOME, fill, opened, turn
from routing.types.budgets import days
from routing.types.usage import Payer
from storage.stores import Stores

NOW = 1_750_000_000.0
GROWING = re.compile(
    r"\bSCAN (usage|turns|messages|conversations|inbox|outbox|pieces|summaries|usage_hours|turn_hours)\b(?! USING)"
)
ROWS = re.compile(r"\(\w+_id=\? AND (tier=\? AND model=\? AND )?at>\?")
Statements = dict[str, Any]


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[tuple[Stores, int, int, Statements]]:
    """Stores, a person, their conversation, and every later statement with its values."""
    stores, person, conversation = await opened("sqlite", tmp_path)
    await stores.database.write(lambda c: fill(c, person, conversation, 4_000, NOW))
    asked: Statements = {}

    @event.listens_for(Engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, values: Any, _context: object, many: bool) -> None:
        if statement.lower().startswith(("select", "update", "delete")):
            asked[statement] = values[0] if many else values

    yield stores, person, conversation, asked
    event.remove(Engine, "before_cursor_execute", note)
    await stores.database.close()


def plans(tmp_path: Path, asked: Statements) -> dict[str, str]:
    with sqlite3.connect(tmp_path / "sqlite.db") as connection:
        return {
            statement: "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))
            for statement, values in asked.items()
        }


async def test_no_query_of_a_turn_scans_a_table(kept: tuple[Stores, int, int, Statements], tmp_path: Path) -> None:
    stores, person, conversation, asked = kept
    dates = days(NOW, 30, ZoneInfo("UTC"))
    await turn(stores, person, conversation, 10**6)
    await stores.history.unsummarised(conversation, 200)
    await stores.history.tiers(conversation, 5)
    await stores.history.last_question(conversation)
    await stores.spending.sums([Payer(dates[-1], person), Payer(dates[0], chat=(HOME.platform, HOME.chat_id))])
    found = plans(tmp_path, asked)
    assert len(found) > 8
    assert {statement: plan for statement, plan in found.items() if GROWING.search(plan)} == {}


async def test_reports_use_the_hourly_sums(kept: tuple[Stores, int, int, Statements], tmp_path: Path) -> None:
    """Single rows are read only for the hours at both ends and for the newest turns with durations."""
    stores, person, conversation, asked = kept
    asked.clear()
    await stores.usage.by_model(person_id=person, since=NOW - 86_400.0)
    await stores.usage.by_model(conversation_id=conversation)
    await stores.spending.by_day(days(NOW, 30, ZoneInfo("Asia/Kathmandu")), person)
    await stores.spending.by_tier(NOW - 86_400.0, person)
    await stores.turns.by_tier(NOW - 86_400.0, person_id=person)
    found = plans(tmp_path, asked)
    assert len(found) > 4
    assert {statement: plan for statement, plan in found.items() if GROWING.search(plan)} == {}
    rows = [plan for plan in found.values() if "SEARCH usage USING" in plan or "SEARCH turns USING" in plan]
    assert rows
    assert all(ROWS.search(plan) for plan in rows)
    hours = [plan for plan in found.values() if "_hours USING" in plan]
    assert hours
    assert all(re.search(r"_hours USING INDEX \w+ \((person|conversation)_id=\?", plan) for plan in hours)

"""The small parts, as tables: hints, lines, what is kept of a server's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from handlers.tools.mcp.hints import Hinted, read_hints, with_hints, write_hints
from handlers.tools.mcp.limits import USUAL, Pace
from handlers.tools.mcp.lines import Lines, TooLong
from handlers.tools.mcp.notes import Notes
from routing.types.toolkits import ToolCard, ToolText

SCHEMA = {"type": "object", "properties": {"q": {}, "n": {}}, "required": ["q"]}
PLAIN = ToolText("Finds.", SCHEMA)
SIZES = ("S", "M", "L", "XL")


def test_hints_come_back_as_they_went() -> None:
    texts = {size: ToolText(f"For {size}.", SCHEMA) for size in SIZES} | {"XL": ToolText("For L.", SCHEMA)}
    card = ToolCard("find", texts, category="web", priority=1.5)  # type: ignore[arg-type]
    assert with_hints("find", texts["XL"], read_hints(write_hints(card), texts["XL"])) == card


def test_a_missing_tier_and_a_missing_half_fall_back() -> None:
    less = {"type": "object", "properties": {"q": {}}, "required": ["q"]}
    hints = {"tiers": {"small": {"inputSchema": less}, "large": {"description": "Finds it all."}}}
    card = with_hints("find", PLAIN, read_hints(hints, PLAIN))
    assert card.texts["S"] == ToolText("Finds.", less) and card.texts["M"] == PLAIN
    assert card.texts["L"] == card.texts["XL"] == ToolText("Finds it all.", SCHEMA)


@pytest.mark.parametrize(
    ("tiers", "reason"),
    [
        ({"tiny": {}}, "is for none of small, medium, large"),
        ({"small": 5}, "is not an object"),
        ({"small": {"description": 5}}, "has a description that is no text"),
        ({"small": {"inputSchema": []}}, "or a schema that is no object"),
        ({"small": {"inputSchema": {"type": "object", "properties": {"n": {}}}}}, "hides what is required: q"),
        ({"small": {"inputSchema": {"properties": {"q": {}, "z": {}}}}}, "has what the tool does not take: z"),
    ],
)
def test_a_hint_that_is_wrong_is_ignored_with_a_word(tiers: Any, reason: str) -> None:
    found = read_hints({"tiers": {**tiers, "medium": {"description": "Finds it."}}}, PLAIN)
    assert list(found.texts) == ["M"] and reason in found.ignored[0]


@pytest.mark.parametrize("hints", [[], 5, "x"])
def test_hints_that_are_none(hints: object) -> None:
    assert read_hints(hints, PLAIN).ignored == ("its hints are not an object",)


@pytest.mark.parametrize("priority", [True, "5", None, float("nan"), float("inf"), 10**400, -(10**400), []])
def test_a_priority_that_is_none(priority: object) -> None:
    assert read_hints({"priority": priority, "category": 5, "tiers": []}, PLAIN) == Hinted({})
    assert read_hints({"priority": 1e9}, PLAIN).priority == 1000.0


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 10_000])
def test_lines_in_chunks_of_any_size(size: int) -> None:
    data = (
        b'first\n\n{"id": 12, "x": "' + b"y" * 3_000 + b'"}\n' + b"z" * 2_000 + b'"id":7}\n' + b"q" * 2_000 + b"\nrest"
    )
    lines = Lines(1_000)
    found = [line for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])]
    assert found == [b"first", b"", TooLong(12), TooLong(7), TooLong(None)]


def test_a_line_without_end_takes_no_memory() -> None:
    lines = Lines(1_000)
    for _ in range(1_000):
        assert list(lines.feed(b"x" * 1_000)) == []
    assert sum(map(len, lines._parts)) + sum(map(len, lines._ends or ())) < 3_000


def test_notes_are_bounded_and_on_one_line() -> None:
    notes = Notes()
    for _ in range(100):
        notes.add(b"x" * 10_000)
    notes.add(b"\n\nTraceback:\n  at \xff\n fatal\n\n")
    assert notes.last(str).endswith("Traceback: · at \ufffd · fatal") and len(notes.last(str)) <= 300


def test_a_long_secret_is_found_at_the_end_of_what_a_server_said() -> None:
    notes, secret = Notes(), "-----BEGIN PRIVATE KEY-----" * 120
    notes.add(f"can't use {secret}".encode())
    assert notes.last(lambda text: text.replace(secret, "•••")) == "can't use •••"


def test_a_pace_slows_only_what_is_too_much() -> None:
    pace = Pace(replace(USUAL, messages_per_second=10, bytes_per_second=100, burst_seconds=2), now=1_000)
    assert pace.owed(150, 15, now=1_000) == 0
    assert pace.owed(0, 30, now=1_000) == 2.5
    assert pace.owed(1_000, 0, now=1_001.5) == 11
    assert pace.owed(0, 0, now=2_000) == 0

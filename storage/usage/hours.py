"""Hourly sums of usage and turns, updated in the transaction that adds the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Subquery,
    Table,
    Update,
    bindparam,
    case,
    func,
    insert,
    literal,
    select,
    union_all,
    update,
)

from routing.budget.guard import UNCOUNTED_TOKENS
from routing.types.usage import Rating, Spending
from storage.codec import dollars
from storage.schema import turn_hours, turns, usage, usage_hours

HOUR = 3600
_NO_HOUR = 2**31 - 1
"""Greater than any hour."""

_CHARGED = func.coalesce(usage.c.cost_nano, usage.c.held_nano)
_TOKENS = func.coalesce(usage.c.input_tokens + usage.c.output_tokens, UNCOUNTED_TOKENS)


def _flag(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


KEYS = ("hour", "person_id", "conversation_id", "tier", "council", "model")
"""Columns that name a sum. All other columns but the id are sums."""


@dataclass(frozen=True, slots=True)
class HourlySums:
    """The table `hours` holds sums of the table `rows`: `values` are its columns, computed from one row."""

    hours: Table
    rows: Table
    values: Mapping[str, ColumnElement[Any]]


USAGE = HourlySums(
    usage_hours,
    usage,
    {
        "person_id": usage.c.person_id,
        "conversation_id": usage.c.conversation_id,
        "tier": usage.c.tier,
        "model": usage.c.model,
        "calls": literal(1),
        "input_tokens": func.coalesce(usage.c.input_tokens, 0),
        "output_tokens": func.coalesce(usage.c.output_tokens, 0),
        "cached_tokens": func.coalesce(usage.c.cached_tokens, 0),
        "cost_nano": func.coalesce(usage.c.cost_nano, 0),
        "unknown": _flag(usage.c.cost_nano.is_(None)),
        "charged_nano": func.coalesce(_CHARGED, 0),
        "uncharged_tokens": case((_CHARGED.is_(None), _TOKENS), else_=0),
    },
)
TURNS = HourlySums(
    turn_hours,
    turns,
    {
        "person_id": turns.c.person_id,
        "tier": turns.c.tier,
        "council": turns.c.source == "council",
        "model": turns.c.model,
        "turns": literal(1),
        "fallbacks": _flag(turns.c.fallback),
        "timeouts": _flag(turns.c.timed_out),
        "escalations": _flag(turns.c.escalated),
        "first_tokens": _flag(turns.c.first_token_seconds.is_not(None)),
        "first_token_seconds": func.coalesce(turns.c.first_token_seconds, 0.0),
        "cost_nano": turns.c.cost_nano,
        "unknown": turns.c.unknown,
        "liked": _flag(func.coalesce(turns.c.rating, 0) > 0),
        "disliked": _flag(func.coalesce(turns.c.rating, 0) < 0),
    },
)


def usage_sums(*columns: str, **within: Select[Any]) -> Subquery:
    """Usage within the time range given by `between`: whole hours from `usage_hours`, the rest from single rows.

    Each name in `columns` is a column and the parameter it must equal; each in `within` is a column and the query its
    value must be in. Callers cache the statement and execute it with other parameters, which takes a fifth of the time.
    """
    return _sums(USAGE, columns, within)


def turn_sums(*columns: str) -> Subquery:
    """The same for turns, from `turn_hours`."""
    return _sums(TURNS, columns, {})


def between(start: float, end: float | None = None) -> dict[str, float]:
    """Parameters of `usage_sums` and `turn_sums` for a time range in Unix seconds; `end` is excluded."""
    first, last = math.ceil(start / HOUR), _NO_HOUR if end is None else math.floor(end / HOUR)
    if end is not None and first >= last:  # the range contains no whole hour
        return {"first": 0, "last": 0, "start": start, "start_end": end, "rest": end, "end": end}
    rest = last * HOUR
    return {
        "first": first,
        "last": last,
        "start": start,
        "start_end": first * HOUR,
        "rest": rest,
        "end": rest if end is None else end,
    }


def totals(sums: Subquery) -> tuple[ColumnElement[Any], ...]:
    """The columns that `spending` reads, except the model."""
    names = ("calls", "input_tokens", "output_tokens", "cached_tokens", "cost_nano", "unknown")
    return tuple(func.sum(sums.c[name]).label(name) for name in names)


@cache
def by_model(*columns: str) -> Select[Any]:
    """Usage per model."""
    sums = usage_sums(*columns)
    return select(sums.c.model, *totals(sums)).group_by(sums.c.model).order_by(sums.c.model)


def spending(row: Row[Any]) -> Spending:
    tokens = (int(row.input_tokens), int(row.output_tokens), int(row.cached_tokens))
    return Spending(row.model, int(row.calls), *tokens, dollars(int(row.cost_nano)), int(row.unknown))


def _sums(of: HourlySums, columns: Sequence[str], within: Mapping[str, Select[Any]]) -> Subquery:
    def chosen(table: Table) -> list[ColumnElement[bool]]:
        equal = [table.c[name] == bindparam(name) for name in columns]
        return equal + [table.c[name].in_(values) for name, values in within.items()]

    hours, rows = of.hours, of.rows
    whole = (hours.c.hour >= bindparam("first"), hours.c.hour < bindparam("last"))
    parts = [select(*(hours.c[name] for name in of.values)).where(*whole, *chosen(hours))]
    for after, before in (("start", "start_end"), ("rest", "end")):
        edge = (rows.c.at >= bindparam(after), rows.c.at < bindparam(before))
        parts.append(select(*(value.label(name) for name, value in of.values.items())).where(*edge, *chosen(rows)))
    return union_all(*parts).subquery()


def add_usage(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add new rows of `usage` to the sums."""
    for row in rows:
        charged = row["held_nano"] if row["cost_nano"] is None else row["cost_nano"]
        counted = row["input_tokens"] is not None
        tokens = row["input_tokens"] + row["output_tokens"] if counted else UNCOUNTED_TOKENS
        sums = {
            "calls": 1,
            "input_tokens": row["input_tokens"] or 0,
            "output_tokens": row["output_tokens"] or 0,
            "cached_tokens": row["cached_tokens"] or 0,
            "cost_nano": row["cost_nano"] or 0,
            "unknown": int(row["cost_nano"] is None),
            "charged_nano": charged or 0,
            "uncharged_tokens": tokens if charged is None else 0,
        }
        _add_to_hour(connection, usage_hours, row, sums)


def add_turn(connection: Connection, row: Mapping[str, Any]) -> None:
    """Add a new row of `turns` to the sums."""
    sums = {
        "turns": 1,
        "fallbacks": int(row["fallback"]),
        "timeouts": int(row["timed_out"]),
        "escalations": int(row["escalated"]),
        "first_tokens": int(row["first_token_seconds"] is not None),
        "first_token_seconds": row["first_token_seconds"] or 0.0,
        "cost_nano": row["cost_nano"],
        "unknown": row["unknown"],
    }
    _add_to_hour(connection, turn_hours, row, sums)


def rate(connection: Connection, which: Sequence[ColumnElement[bool]], rating: Rating | None) -> bool:
    """Set the rating of the selected turns and update the sums. False if no turn was found."""
    found = connection.execute(select(turns).where(*which).with_for_update()).mappings().all()
    for row in found:
        more = {name: (rating == value) - (row["rating"] == value) for name, value in _RATINGS}
        _add_to_hour(connection, turn_hours, dict(row), more)
    connection.execute(update(turns).where(*which).values(rating=rating))
    return bool(found)


_RATINGS: tuple[tuple[str, Rating], ...] = (("liked", 1), ("disliked", -1))


def _add_to_hour(connection: Connection, hours: Table, row: Mapping[str, Any], sums: Mapping[str, float]) -> None:
    """Add `sums` to the hour that a row of `usage` or `turns` belongs to. Sums that are not given stay unchanged."""
    more: dict[str, float] = dict.fromkeys(_sum_columns(hours), 0) | dict(sums)
    known = {**row, "hour": int(row["at"] // HOUR), "council": row.get("source") == "council"}
    key = {name: known[name] for name in _key_columns(hours)}
    given = {f"key_{name}": value for name, value in key.items()} | {f"more_{name}": n for name, n in more.items()}
    if not connection.execute(_increment(hours), given).rowcount:
        connection.execute(insert(hours), key | more)


@cache
def _key_columns(hours: Table) -> list[str]:
    return [name for name in KEYS if name in hours.c]


@cache
def _sum_columns(hours: Table) -> list[str]:
    return [column.name for column in hours.c if column.name not in ("id", *KEYS)]


@cache
def _increment(hours: Table) -> Update:
    same = [hours.c[name] == bindparam(f"key_{name}") for name in _key_columns(hours)]
    first = select(func.min(hours.c.id)).where(*same).scalar_subquery()
    more = {name: hours.c[name] + bindparam(f"more_{name}") for name in _sum_columns(hours)}
    return update(hours).where(hours.c.id == first).values(more)

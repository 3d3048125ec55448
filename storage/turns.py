"""How turns went."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Subquery,
    Table,
    and_,
    case,
    func,
    insert,
    literal,
    select,
    update,
)

from routing.money.books import Rating, Trouble, TurnReport
from routing.records import TurnFacts, TurnRecord
from routing.types import TIERS
from storage.codec import NAMES, dollars, nano
from storage.database import Database
from storage.quantiles import quantile, ranked
from storage.schema import turns

_KEEP = insert(turns)
_GROUPS = (*TIERS, "council")


def keep(connection: Connection, record: TurnRecord, facts: TurnFacts, now: float) -> None:
    """Write a turn's facts down, in the transaction that ends it."""
    costs = [call.usage.cost if call.usage else None for call in record.calls]
    row = {
        "turn_id": record.turn_id,
        "person_id": record.person_id,
        "tier": facts.tier,
        "source": facts.source,
        "model": facts.model,
        "failed": NAMES.dump(facts.failed),
        "fallback": facts.fallback,
        "timed_out": facts.timed_out,
        "escalated": facts.escalated,
        "seconds": facts.seconds,
        "first_token_seconds": facts.first_token_seconds,
        "cost_nano": sum(nano(cost) or 0 for cost in costs),
        "unknown": costs.count(None),
        "at": now,
    }
    connection.execute(_KEEP, row)


def _group(rows: Table | Subquery) -> ColumnElement[str]:
    """The tier of a turn; councils are a group of their own, for they take longer than any tier promises."""
    return case((rows.c.source == "council", "council"), else_=rows.c.tier)


class SqlTurns:
    """`routing.money.books.TurnStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        mine = (turns.c.turn_id == turn_id) & (turns.c.person_id == person_id)
        change = update(turns).where(mine).values(rating=rating)
        return await self._database.write(lambda c: c.execute(change).rowcount > 0)

    async def by_tier(
        self, since: float = 0.0, by_model: bool = False, person_id: int | None = None
    ) -> tuple[TurnReport, ...]:
        groups = (_group(turns), turns.c.model) if by_model else (_group(turns),)
        which = [turns.c.at >= since]
        if person_id is not None:
            which.append(turns.c.person_id == person_id)
        inside = ranked(turns, turns.c.seconds, groups, and_(*which))
        question = select(
            _group(inside).label("grouped"),
            inside.c.model if by_model else literal("").label("model"),
            func.count().label("turns"),
            _count(inside.c.fallback).label("fallbacks"),
            _count(inside.c.timed_out).label("timeouts"),
            _count(inside.c.escalated).label("escalations"),
            _count(inside.c.model == "").label("unanswered"),
            quantile(inside, "seconds", 50).label("p50"),
            quantile(inside, "seconds", 95).label("p95"),
            func.avg(inside.c.first_token_seconds).label("first"),
            func.sum(inside.c.cost_nano).label("cost"),
            func.sum(inside.c.unknown).label("unknown"),
            _count(inside.c.rating > 0).label("liked"),
            _count(inside.c.rating < 0).label("disliked"),
        ).group_by("grouped", *((inside.c.model,) if by_model else ()))
        rows = await self._database.read(lambda c: c.execute(question).all())
        reports = [_report(row) for row in rows]
        return tuple(sorted(reports, key=lambda each: (_GROUPS.index(each.tier), -each.turns, each.model)))

    async def newest(self, limit: int) -> Trouble:
        last = select(turns).where(turns.c.source != "council").order_by(turns.c.id.desc()).limit(limit).subquery()
        marks = (_count(last.c.fallback), _count(last.c.timed_out), _count(last.c.escalated))
        return await self._database.read(lambda c: Trouble(*c.execute(select(func.count(last.c.id), *marks)).one()))


def _count(mark: ColumnElement[bool]) -> ColumnElement[int]:
    """How many rows it holds for."""
    return func.count(case((mark, 1)))


def _report(row: Row[Any]) -> TurnReport:
    return TurnReport(
        tier=row.grouped,
        model=row.model,
        turns=row.turns,
        fallbacks=row.fallbacks,
        timeouts=row.timeouts,
        escalations=row.escalations,
        unanswered=row.unanswered,
        p50=row.p50,
        p95=row.p95,
        first=row.first,
        dollars=dollars(row.cost),
        unknown=int(row.unknown),
        liked=row.liked,
        disliked=row.disliked,
    )

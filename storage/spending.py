"""What was spent: by limit, by person, by tier, by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, case, func, literal, select

from routing.money.books import UNCOUNTED_TOKENS, Day, Payer, PersonSpending, Spent, TierSpending
from routing.money.periods import Stretch
from routing.records import Spending
from routing.types import TIERS
from storage.codec import dollars
from storage.database import Database
from storage.quantiles import quantile, ranked
from storage.schema import conversations, people, usage

_UNKNOWN = usage.c.cost_nano.is_(None)
_TOKENS = func.coalesce(usage.c.input_tokens + usage.c.output_tokens, UNCOUNTED_TOKENS)
_CHARGED = func.coalesce(usage.c.cost_nano, usage.c.held_nano)
_SPENT = select(func.sum(_CHARGED), func.count(case((_UNKNOWN, 1))), func.sum(case((_CHARGED.is_(None), _TOKENS))))


class SqlSpending:
    """`routing.money.books.SpendingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        def step(connection: Connection) -> tuple[Spent, ...]:
            rows = [connection.execute(_of(payer)).one() for payer in payers]
            return tuple(Spent(dollars(cost), unknown, int(tokens or 0)) for cost, unknown, tokens in rows)

        return await self._database.read(step)

    async def by_person(self, since: float = 0.0) -> tuple[PersonSpending, ...]:
        cost = func.coalesce(func.sum(usage.c.cost_nano), 0)
        question = (
            select(people.c.id, people.c.name, literal("").label("model"), *_sums(usage))
            .join(usage, usage.c.person_id == people.c.id)
            .where(usage.c.at >= since)
            .group_by(people.c.id, people.c.name)
            .order_by(cost.desc(), func.count().desc(), people.c.id)
        )
        rows = await self._database.read(lambda c: c.execute(question).all())
        return tuple(PersonSpending(row.id, row.name, _spending(row)) for row in rows)

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        which = [usage.c.at >= since]
        if person_id is not None:
            which.append(usage.c.person_id == person_id)
        inside = ranked(usage, usage.c.seconds, (usage.c.tier,), and_(*which))
        halves = (quantile(inside, "seconds", 50).label("p50"), quantile(inside, "seconds", 95).label("p95"))
        question = select(inside.c.tier, literal("").label("model"), *_sums(inside), *halves).group_by(inside.c.tier)
        rows = await self._database.read(lambda c: c.execute(question).all())
        found = [TierSpending(row.tier, _spending(row), row.p50, row.p95) for row in rows]
        return tuple(sorted(found, key=lambda each: TIERS.index(each.tier)))

    async def by_day(self, days: Sequence[Stretch], person_id: int | None = None) -> tuple[Day, ...]:
        if not days:
            return ()
        number = case(*((usage.c.at < each.end, n) for n, each in enumerate(days)))
        inside = select(usage, number.label("number")).where(usage.c.at >= days[0].start, usage.c.at < days[-1].end)
        if person_id is not None:
            inside = inside.where(usage.c.person_id == person_id)
        rows = inside.subquery()
        question = (
            select(rows.c.number, rows.c.model, *_sums(rows))
            .group_by(rows.c.number, rows.c.model)
            .order_by(rows.c.number, rows.c.model)
        )
        found: list[list[Spending]] = [[] for _ in days]
        for row in await self._database.read(lambda c: c.execute(question).all()):
            found[row.number].append(_spending(row))
        return tuple(Day(each.date, tuple(models)) for each, models in zip(days, found, strict=True))


def _of(payer: Payer) -> Select[Any, int, Any]:
    """The sums of one payer."""
    question = _SPENT.where(usage.c.at >= payer.stretch.start, usage.c.at < payer.stretch.end)
    if payer.person_id is not None:
        return question.where(usage.c.person_id == payer.person_id)
    if payer.chat is not None:
        platform, chat_id = payer.chat
        there = (conversations.c.platform == platform) & (conversations.c.chat_id == chat_id)
        return question.where(usage.c.conversation_id.in_(select(conversations.c.id).where(there)))
    return question


def _sums(rows: FromClause) -> tuple[ColumnElement[Any], ...]:
    """Calls, tokens, cost, and the calls whose price nobody knows."""
    return (
        func.count().label("calls"),
        func.coalesce(func.sum(rows.c.input_tokens), 0).label("input"),
        func.coalesce(func.sum(rows.c.output_tokens), 0).label("output"),
        func.coalesce(func.sum(rows.c.cached_tokens), 0).label("cached"),
        func.sum(rows.c.cost_nano).label("cost"),
        (func.count() - func.count(rows.c.cost_nano)).label("unknown"),
    )


def _spending(row: Row[Any]) -> Spending:
    tokens = (int(row.input), int(row.output), int(row.cached))
    return Spending(row.model, row.calls, *tokens, dollars(row.cost), row.unknown)

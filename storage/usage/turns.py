"""Statistics and ratings of turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, insert, select

from routing.types.history import TurnFacts, TurnRecord
from routing.types.messages import ChatKey
from routing.types.tiers import TIERS, Tier
from routing.types.usage import Rating, RecentProblems, TurnReport
from storage.codec import NAMES, dollars, nano
from storage.database import Database
from storage.schema import outbox, pieces, turns
from storage.usage.hours import add_turn, between, rate, turn_sums

_INSERT = insert(turns)
_Group = Tier | Literal["council"]
_GROUPS: tuple[_Group, ...] = (*TIERS, "council")
_COUNTS = (
    *("turns", "fallbacks", "timeouts", "escalations", "first_tokens"),
    *("cost_nano", "unknown", "liked", "disliked"),
)
_Part = tuple[Row[Any], Sequence[Row[Any]]]
TIMED = 1_000
"""p50 and p95 are computed from this many of the newest turns in a group."""


def keep(connection: Connection, record: TurnRecord, facts: TurnFacts, now: float) -> None:
    """Store the facts of a turn, in the transaction that ends it."""
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
    connection.execute(_INSERT, row)
    add_turn(connection, row)


class SqlTurns:
    """Implements `routing.ports.TurnStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        mine = (turns.c.turn_id == turn_id, turns.c.person_id == person_id)
        return await self._database.write(lambda c: rate(c, mine, rating))

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TurnReport, ...]:
        filters = {} if person_id is None else {"person_id": person_id}
        query = _by_kind(*filters)

        def step(connection: Connection) -> list[TurnReport]:
            groups: dict[str, dict[str, list[_Part]]] = {}
            for row in connection.execute(query, between(since) | filters).all():
                models = groups.setdefault("council" if row.council else row.tier, {})
                models.setdefault(row.model, []).append((row, connection.execute(_newest(row, since, filters)).all()))
            return [_tier_report(group, groups[group]) for group in _GROUPS if group in groups]

        return tuple(await self._database.read(step))

    async def newest(self, limit: int) -> RecentProblems:
        last = select(turns).where(turns.c.source != "council").order_by(turns.c.id.desc()).limit(limit).subquery()
        marks = (_count_if(last.c.fallback), _count_if(last.c.timed_out), _count_if(last.c.escalated))
        return await self._database.read(
            lambda c: RecentProblems(*c.execute(select(func.count(last.c.id), *marks)).one())
        )


def _count_if(mark: ColumnElement[bool]) -> ColumnElement[int]:
    """Number of rows for which the condition is true."""
    return func.count(case((mark, 1)))


@cache
def _by_kind(*columns: str) -> Select[Any]:
    sums = turn_sums(*columns)
    kinds = (sums.c.council, sums.c.tier, sums.c.model)
    counts = (func.sum(sums.c[name]).label(name) for name in (*_COUNTS, "first_token_seconds"))
    return select(*kinds, *counts).group_by(*kinds)


def _newest(kind: Row[Any], since: float, filters: Mapping[str, int]) -> Select[Any]:
    """End time and duration (seconds) of the newest turns of a tier, model and kind."""
    same = [turns.c[name] == value for name, value in filters.items()]
    same += [turns.c.tier == kind.tier, turns.c.model == kind.model, turns.c.at >= since]
    council = turns.c.source == "council"
    newest = select(turns.c.at, turns.c.seconds).where(*same, council if kind.council else ~council)
    return newest.order_by(turns.c.at.desc()).limit(TIMED)


def _tier_report(tier: _Group, models: Mapping[str, Sequence[_Part]]) -> TurnReport:
    reports = [_report(tier, model, parts) for model, parts in models.items()]
    reports.sort(key=lambda each: (-each.turns, each.model))
    whole = _report(tier, "", [part for parts in models.values() for part in parts])
    return replace(whole, models=tuple(reports))


def _report(tier: _Group, model: str, parts: Sequence[_Part]) -> TurnReport:
    """The report for a group. Each part is a tier and model with its newest turns."""
    sums = {name: int(sum(getattr(row, name) for row, _ in parts)) for name in _COUNTS}
    first = float(sum(row.first_token_seconds for row, _ in parts))
    newest = sorted(((turn.at, turn.seconds) for _, timed in parts for turn in timed), reverse=True)[:TIMED]
    seconds = sorted(each for _, each in newest)
    return TurnReport(
        tier=tier,
        model=model,
        turns=sums["turns"],
        fallbacks=sums["fallbacks"],
        timeouts=sums["timeouts"],
        escalations=sums["escalations"],
        unanswered=sum(int(row.turns) for row, _ in parts if not row.model),
        p50=_quantile(seconds, 50),
        p95=_quantile(seconds, 95),
        first=first / sums["first_tokens"] if sums["first_tokens"] else None,
        dollars=dollars(sums["cost_nano"]),
        unknown=sums["unknown"],
        liked=sums["liked"],
        disliked=sums["disliked"],
    )


def _quantile(ascending: Sequence[float], percent: int) -> float:
    """The smallest value that at least `percent` of the values do not exceed."""
    return ascending[-(-len(ascending) * percent // 100) - 1]


_ANSWERED = and_(turns.c.turn_id == outbox.c.turn_id, turns.c.model != "")
"""Turns that a model answered. Others only show notices of the bot, which are not rated."""


class SqlRatings:
    """Implements `routing.ports.RatingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def turn_of(self, chat: ChatKey, message_id: str) -> str | None:
        shown = select(outbox.c.turn_id).join(pieces, pieces.c.outbox_id == outbox.c.id).join(turns, _ANSWERED)
        here = (outbox.c.platform == chat.platform) & (outbox.c.chat_id == chat.chat_id)
        query = shown.where(pieces.c.message_id == message_id, here).limit(1)
        return await self._database.read(lambda c: c.execute(query).scalar_one_or_none())

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        here = (outbox.c.platform == chat.platform) & (outbox.c.chat_id == chat.chat_id)
        had = select(turns.c.turn_id).join(outbox, _ANSWERED).where(turns.c.person_id == person_id, here)
        query = had.where(outbox.c.thread_id == chat.thread_id).order_by(outbox.c.id.desc()).limit(1)
        return await self._database.read(lambda c: c.execute(query).scalar_one_or_none())

    async def take_back(self, turn_id: str, person_id: int, rating: Rating) -> bool:
        mine = (turns.c.turn_id == turn_id, turns.c.person_id == person_id, turns.c.rating == rating)
        return await self._database.write(lambda c: rate(c, mine, None))

"""Sums of usage and cost: by model, and by limit, person, tier and day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, literal, select

from routing.types.budgets import Period
from routing.types.messages import CHAT_ID_PREFIX
from routing.types.tiers import TIERS
from routing.types.usage import MEDIA, Day, Payer, PersonSpending, Spending, Spent, TierSpending
from storage.codec import dollars
from storage.database import Database
from storage.schema import conversations, identities, people, usage
from storage.usage.hours import between, by_model, spending, totals, usage_sums

NEWEST_CALLS = 2_000
"""How many of the newest calls are searched for those of one model."""
_NEWEST = select(usage.c.id, usage.c.model, usage.c.seconds).order_by(usage.c.id.desc()).limit(NEWEST_CALLS).subquery()
_SECONDS = (
    select(_NEWEST.c.seconds)
    .where(_NEWEST.c.model == bindparam("of_model"))
    .order_by(_NEWEST.c.id.desc())
    .limit(bindparam("most"))
)


class SqlUsage:
    """Implements `routing.ports.UsageStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        filters = {"person_id": person_id, "conversation_id": conversation_id}
        chosen = {name: value for name, value in filters.items() if value is not None}
        rows = await self._database.read(lambda c: c.execute(by_model(*chosen), between(since) | chosen).all())
        return tuple(sorted(map(spending, rows), key=lambda each: (-each.calls, each.model)))

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        rows = await self._database.read(lambda c: c.execute(_SECONDS, {"of_model": model, "most": limit}).all())
        return tuple(row.seconds for row in rows)


class SqlSpending:
    """Implements `routing.ports.SpendingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        def step(connection: Connection) -> tuple[Spent, ...]:
            rows = [connection.execute(*_payer_query(payer)).one() for payer in payers]
            return tuple(Spent(dollars(cost), int(unknown or 0), int(tokens or 0)) for cost, unknown, tokens in rows)

        return await self._database.read(step)

    async def by_person(self, since: float = 0.0, limit: int | None = None) -> tuple[PersonSpending, ...]:
        query = _by_person().limit(limit)
        rows = await self._database.read(lambda c: c.execute(query, between(since)).all())
        return tuple(PersonSpending(row.id, row.name, spending(row)) for row in rows)

    async def of_people(self, people: Sequence[int], since: float = 0.0) -> Mapping[int, Spending]:
        given = between(since) | {"people": list(people)}
        rows = await self._database.read(lambda c: c.execute(_of_people(), given).all())
        return {row.person_id: spending(row) for row in rows}

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        filters = _person_filter(person_id)
        rows = await self._database.read(lambda c: c.execute(_by_tier(*filters), between(since) | filters).all())
        found = [TierSpending(row.tier, spending(row)) for row in rows]
        return tuple(sorted(found, key=lambda each: (*TIERS, *MEDIA).index(each.tier)))

    async def by_day(self, days: Sequence[Period], person_id: int | None = None) -> tuple[Day, ...]:
        filters = _person_filter(person_id)
        query = by_model(*filters)

        def step(connection: Connection) -> tuple[Day, ...]:
            found = [(each.date, connection.execute(query, between(each.start, each.end) | filters)) for each in days]
            return tuple(Day(date, tuple(map(spending, rows.all()))) for date, rows in found)

        return await self._database.read(step)


def _person_filter(person_id: int | None) -> dict[str, int]:
    return {} if person_id is None else {"person_id": person_id}


@cache
def _by_person() -> Select[Any]:
    sums = usage_sums()
    columns = (people.c.id, people.c.name, literal("").label("model"), *totals(sums))
    found = select(*columns).join(sums, sums.c.person_id == people.c.id).group_by(people.c.id, people.c.name)
    return found.order_by(func.sum(sums.c.cost_nano).desc(), func.sum(sums.c.calls).desc(), people.c.id)


@cache
def _of_people() -> Select[Any]:
    chosen = select(people.c.id).where(people.c.id.in_(bindparam("people", expanding=True)))
    sums = usage_sums(person_id=chosen)
    columns = (sums.c.person_id, literal("").label("model"), *totals(sums))
    return select(*columns).group_by(sums.c.person_id)


@cache
def _by_tier(*columns: str) -> Select[Any]:
    sums = usage_sums(*columns)
    return select(sums.c.tier, literal("").label("model"), *totals(sums)).group_by(sums.c.tier)


def _payer_query(payer: Payer) -> tuple[Select[Any], dict[str, Any]]:
    """The query for a payer's sums, and its parameters."""
    chosen: dict[str, Any] = dict(_person_filter(payer.person_id))
    if payer.chat is not None:
        chosen |= dict(zip(("platform", "chat_id"), payer.chat, strict=True))
    query = _charged(payer.person_id is not None, payer.chat is not None, payer.channels)
    return query, between(payer.period.start, payer.period.end) | chosen


@cache
def _charged(personal: bool, in_chat: bool, channels: bool) -> Select[Any]:
    within: dict[str, Select[Any]] = {}
    if in_chat:
        there = (conversations.c.platform == bindparam("platform")) & (conversations.c.chat_id == bindparam("chat_id"))
        within["conversation_id"] = select(conversations.c.id).where(there)
        if channels:
            channel = (identities.c.platform == bindparam("platform")) & identities.c.user_id.startswith(CHAT_ID_PREFIX)
            within["person_id"] = select(identities.c.person_id).where(channel)
    sums = usage_sums(*(["person_id"] if personal else []), **within)
    return select(func.sum(sums.c.charged_nano), func.sum(sums.c.unknown), func.sum(sums.c.uncharged_tokens))

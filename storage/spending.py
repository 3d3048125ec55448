"""What was spent: by limit, by person, by tier, by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

from routing.money.books import Day, Payer, PersonSpending, Spent, TierSpending
from routing.money.periods import Stretch
from routing.outcome import VOICE
from routing.types import TIERS
from storage.codec import dollars
from storage.database import Database
from storage.hours import spending, totals, used
from storage.schema import conversations, identities, people


class SqlSpending:
    """`routing.money.books.SpendingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        def step(connection: Connection) -> tuple[Spent, ...]:
            rows = [connection.execute(_of(payer)).one() for payer in payers]
            return tuple(Spent(dollars(cost), int(unknown or 0), int(tokens or 0)) for cost, unknown, tokens in rows)

        return await self._database.read(step)

    async def by_person(self, since: float = 0.0) -> tuple[PersonSpending, ...]:
        sums = used(since)
        question = (
            select(people.c.id, people.c.name, literal("").label("model"), *totals(sums))
            .join(sums, sums.c.person_id == people.c.id)
            .group_by(people.c.id, people.c.name)
        )
        rows = await self._database.read(lambda c: c.execute(question).all())
        found = [PersonSpending(row.id, row.name, spending(row)) for row in rows]
        return tuple(sorted(found, key=lambda each: (-each.spent.cost, -each.spent.calls, each.person_id)))

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        sums = used(since, **_whose(person_id))
        question = select(sums.c.tier, literal("").label("model"), *totals(sums)).group_by(sums.c.tier)
        rows = await self._database.read(lambda c: c.execute(question).all())
        found = [TierSpending(row.tier, spending(row)) for row in rows]
        return tuple(sorted(found, key=lambda each: (*TIERS, VOICE).index(each.tier)))

    async def by_day(self, days: Sequence[Stretch], person_id: int | None = None) -> tuple[Day, ...]:
        def step(connection: Connection) -> tuple[Day, ...]:
            found = []
            for each in days:
                sums = used(each.start, each.end, **_whose(person_id))
                question = select(sums.c.model, *totals(sums)).group_by(sums.c.model).order_by(sums.c.model)
                found.append(Day(each.date, tuple(map(spending, connection.execute(question).all()))))
            return tuple(found)

        return await self._database.read(step)


def _whose(person_id: int | None) -> dict[str, int]:
    return {} if person_id is None else {"person_id": person_id}


def _of(payer: Payer) -> Select[Any]:
    """The sums of one payer."""
    which: dict[str, object] = dict(_whose(payer.person_id))
    if payer.chat is not None:
        platform, chat_id = payer.chat
        there = (conversations.c.platform == platform) & (conversations.c.chat_id == chat_id)
        which["conversation_id"] = select(conversations.c.id).where(there)
        if payer.channels:
            channel = (identities.c.platform == platform) & identities.c.user_id.startswith("-")
            which["person_id"] = select(identities.c.person_id).where(channel)
    sums = used(payer.stretch.start, payer.stretch.end, **which)
    return select(func.sum(sums.c.charged_nano), func.sum(sums.c.unknown), func.sum(sums.c.uncharged_tokens))

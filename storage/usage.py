"""What was spent, added up."""

from __future__ import annotations

from sqlalchemy import func, select

from routing.records import Spending
from storage.codec import dollars
from storage.database import Database
from storage.schema import usage


class SqlUsage:
    """`routing.records.UsageStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        calls = func.count().label("calls")
        question = (
            select(
                usage.c.model,
                calls,
                func.coalesce(func.sum(usage.c.input_tokens), 0),
                func.coalesce(func.sum(usage.c.output_tokens), 0),
                func.coalesce(func.sum(usage.c.cached_tokens), 0),
                func.sum(usage.c.cost_nano),
                func.count() - func.count(usage.c.cost_nano),
            )
            .where(usage.c.at >= since)
            .group_by(usage.c.model)
            .order_by(calls.desc(), usage.c.model)
        )
        if person_id is not None:
            question = question.where(usage.c.person_id == person_id)
        if conversation_id is not None:
            question = question.where(usage.c.conversation_id == conversation_id)
        rows = await self._database.read(lambda c: c.execute(question).all())
        return tuple(
            Spending(model, n, int(into), int(out), int(cached), dollars(cost), unknown)
            for model, n, into, out, cached, cost, unknown in rows
        )

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        newest = select(usage.c.seconds).where(usage.c.model == model).order_by(usage.c.id.desc()).limit(limit)
        rows = await self._database.read(lambda c: c.execute(newest).all())
        return tuple(row.seconds for row in rows)

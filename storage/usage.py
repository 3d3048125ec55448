"""Sums of usage and cost."""

from __future__ import annotations

from sqlalchemy import select

from routing.types.usage import Spending
from storage.database import Database
from storage.hours import between, by_model, spending
from storage.schema import usage


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
        newest = select(usage.c.seconds).where(usage.c.model == model).order_by(usage.c.id.desc()).limit(limit)
        rows = await self._database.read(lambda c: c.execute(newest).all())
        return tuple(row.seconds for row in rows)

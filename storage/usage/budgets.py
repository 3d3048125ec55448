"""Spending limits that the owner sets for individual people."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from routing.ports import Clock
from routing.types.budgets import PersonLimits
from storage.audit import write_audit
from storage.codec import dollars, nano
from storage.database import Database
from storage.schema import budgets


class SqlBudgets:
    """Implements `routing.ports.BudgetStore`. Linking two accounts can leave two rows for one person; the newest
    counts."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def everyone(self) -> Mapping[int, PersonLimits]:
        rows = await self._database.read(lambda c: c.execute(select(budgets).order_by(budgets.c.id)).all())
        return {
            row.person_id: PersonLimits(
                None if row.daily_nano is None else dollars(row.daily_nano),
                None if row.monthly_nano is None else dollars(row.monthly_nano),
            )
            for row in rows
        }

    async def set(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        now = self._clock()
        row = {"person_id": person_id, "daily_nano": nano(limits.daily), "monthly_nano": nano(limits.monthly)}

        def step(connection: Connection) -> None:
            connection.execute(delete(budgets).where(budgets.c.person_id == person_id))
            if limits != PersonLimits():
                connection.execute(insert(budgets), row)
            write_audit(connection, now, actor, "budget", f"person {person_id}", _describe(limits))

        await self._database.write(step)


def _describe(limits: PersonLimits) -> str:
    parts = (("a day", limits.daily), ("a month", limits.monthly))
    return ", ".join(f"${value} {per}" for per, value in parts if value is not None) or "as everyone"

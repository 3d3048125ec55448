"""Tools allowed to run without confirmation."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, or_, select

from routing.types.tools import Allowance
from storage.database import Database
from storage.schema import allowances


class SqlAllowances:
    """Implements `routing.ports.AllowanceStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, person_id: int) -> tuple[Allowance, ...]:
        found = select(allowances).where(or_(allowances.c.person_id == person_id, allowances.c.everybody))
        rows = await self._database.read(lambda c: c.execute(found).all())
        return tuple(Allowance(row.tool, row.version, row.conversation_id, row.everybody) for row in rows)

    async def allow(self, person_id: int, allowance: Allowance) -> None:
        row = {
            "person_id": person_id,
            "conversation_id": allowance.conversation_id,
            "tool": allowance.tool,
            "version": allowance.version,
            "everybody": allowance.everybody,
        }
        same = (
            (allowances.c.person_id == person_id)
            & (allowances.c.tool == allowance.tool)
            & (allowances.c.everybody == allowance.everybody)
            & allowances.c.conversation_id.is_not_distinct_from(allowance.conversation_id)
        )

        def step(connection: Connection) -> None:
            connection.execute(delete(allowances).where(same))
            connection.execute(insert(allowances).values(row))

        await self._database.write(step)

    async def revoke(self, person_id: int, tool: str, everybody: bool) -> bool:
        mine = (allowances.c.person_id == person_id) & ~allowances.c.everybody
        revocable = or_(mine, allowances.c.everybody) if everybody else mine
        gone = delete(allowances).where(allowances.c.tool == tool, revocable)
        return await self._database.write(lambda c: c.execute(gone).rowcount > 0)

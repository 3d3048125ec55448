"""Tool calls that wait for the person's confirmation, and tools that run without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from sqlalchemy import Connection, delete, insert, or_, select, update

from routing.ports import Clock
from routing.types.messages import OutgoingFile
from routing.types.tools import ActionState, Allowance, PendingAction
from storage.codec import FILES
from storage.database import Database
from storage.outgoing_files import OutgoingFileStore
from storage.schema import actions, allowances

_FIELDS = tuple(column for column in actions.c if column.name != "id")


class SqlActions:
    """Implements `routing.ports.ActionStore`."""

    def __init__(self, database: Database, clock: Clock, files: OutgoingFileStore | None = None) -> None:
        self._database = database
        self._clock = clock
        self._files = files or OutgoingFileStore()

    async def add(self, action: PendingAction) -> PendingAction:
        row = {column.name: getattr(action, column.name) for column in _FIELDS} | {"files": FILES.dump(action.files)}
        added = await self._database.write(lambda c: c.execute(insert(actions).values(row)).inserted_primary_key)
        assert added is not None
        return replace(action, id=added[0])

    async def get(self, action_id: int) -> PendingAction | None:
        one = select(actions).where(actions.c.id == action_id)
        row = await self._database.read(lambda c: c.execute(one).mappings().one_or_none())
        return None if row is None else PendingAction(**{**row, "files": FILES.load(row["files"])})

    async def claim(self, action_id: int, state: Literal["running", "cancelled"], press: str) -> bool:
        waiting = (actions.c.state == "waiting") & (actions.c.expires_at > self._clock())
        claimed = update(actions).where(actions.c.id == action_id, waiting).values(state=state, press=press)
        return await self._database.write(lambda c: c.execute(claimed).rowcount == 1)

    async def end(
        self, action_id: int, state: ActionState, result: str = "", files: Sequence[OutgoingFile] = ()
    ) -> tuple[OutgoingFile, ...]:
        kept = await self._files.keep(files) if files else ()
        values = {"state": state, "result": result, "files": FILES.dump(kept)}
        await self._database.write(lambda c: c.execute(update(actions).where(actions.c.id == action_id).values(values)))
        return kept

    async def sweep(self, before: float) -> None:
        old = delete(actions).where(actions.c.expires_at < before)
        await self._database.write(lambda c: c.execute(old))


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

"""Reminders and scheduled prompts, and the transaction that starts those that are due."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from routing.ports import Clock
from routing.types.lease import Lease
from routing.types.messages import ChatKey
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.schedules import Firing, Schedule, ScheduleState
from storage.database import Database
from storage.inbox import insert_new
from storage.outbox import queue
from storage.schema import schedules

SAME_SECONDS = 120.0
"""Two equal schedules this close together are one: a turn that was interrupted runs again."""


class SqlSchedules:
    """Implements `routing.ports.ScheduleStore`."""

    def __init__(self, database: Database, clock: Clock, lease: Lease | None = None) -> None:
        """With a lease, this process sends the reminders in the chats that it handles."""
        self._database = database
        self._clock = clock
        self._lease = lease

    async def add(self, schedule: Schedule, most: int) -> Schedule | None:
        def step(connection: Connection) -> Schedule | None:
            same = connection.execute(select(schedules).where(_same(schedule))).first()
            if same is not None:
                return _schedule(same)
            mine = schedules.c.person_id == schedule.person_id
            if connection.execute(select(func.count()).select_from(schedules).where(mine)).scalar_one() >= most:
                return None
            added = connection.execute(insert(schedules).values(**_row(schedule)).returning(schedules)).one()
            return _schedule(added)

        return await self._database.write(step)

    async def of(self, person_id: int) -> tuple[Schedule, ...]:
        mine = select(schedules).where(schedules.c.person_id == person_id)
        in_order = mine.order_by(schedules.c.next_at, schedules.c.id)
        rows = await self._database.read(lambda c: c.execute(in_order).all())
        return tuple(map(_schedule, rows))

    async def get(self, person_id: int, schedule_id: int) -> Schedule | None:
        query = select(schedules).where(_mine(person_id, schedule_id))
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return None if row is None else _schedule(row)

    async def remove(self, person_id: int, schedule_id: int) -> bool:
        gone = delete(schedules).where(_mine(person_id, schedule_id))
        return await self._database.write(lambda c: c.execute(gone).rowcount > 0)

    async def set_state(self, person_id: int, schedule_id: int, state: ScheduleState, next_at: float) -> bool:
        change = update(schedules).where(_mine(person_id, schedule_id)).values(state=state, next_at=next_at, failures=0)
        return await self._database.write(lambda c: c.execute(change).rowcount > 0)

    async def move(self, person_id: int, zone: str, times: Mapping[int, float]) -> None:
        def step(connection: Connection) -> None:
            for schedule_id, next_at in times.items():
                change = update(schedules).where(_mine(person_id, schedule_id))
                connection.execute(change.values(time_zone=zone, next_at=next_at))

        await self._database.write(step)

    async def next_at(self, platforms: Collection[str]) -> float | None:
        def step(connection: Connection) -> float | None:
            first = (connection.execute(_active(each).limit(1)).first() for each in platforms)
            return min((row.next_at for row in first if row is not None), default=None)

        return await self._database.read(step)

    async def due(self, platforms: Collection[str], now: float, most: int) -> tuple[Schedule, ...]:
        def step(connection: Connection) -> list[Schedule]:
            found: list[Schedule] = []
            for each in platforms:
                rows = connection.execute(_active(each).where(schedules.c.next_at <= now).limit(most))
                found += map(_schedule, rows)
            return found

        found = await self._database.read(step)
        return tuple(sorted(found, key=lambda each: (each.next_at, each.id))[:most])

    async def fire(self, firings: Sequence[Firing]) -> tuple[tuple[OutboxEntry, ...], tuple[InboxEntry, ...]]:
        now = self._clock()

        def step(connection: Connection) -> tuple[tuple[OutboxEntry, ...], tuple[InboxEntry, ...]]:
            replies: list[OutboxEntry] = []
            messages: list[InboxEntry] = []
            for each in firings:
                if not _advance(connection, each):
                    continue
                if each.reply is not None:
                    replies += queue(connection, [each.reply], now, self._lease)
                if (
                    each.message is not None
                    and (entry := insert_new(connection, each.message, now, self._lease)) is not None
                ):
                    messages.append(entry)
            return tuple(replies), tuple(messages)

        return await self._database.write(step)

    async def ended(self, schedule_id: int, failed: bool, most: int) -> Schedule | None:
        this = schedules.c.id == schedule_id

        def step(connection: Connection) -> Schedule | None:
            if not failed:
                connection.execute(update(schedules).where(this, schedules.c.failures > 0).values(failures=0))
                return None
            counted = update(schedules).where(this).values(failures=schedules.c.failures + 1).returning(schedules)
            row = connection.execute(counted).one_or_none()
            if row is None or row.failures < most or row.state != "active":
                return None
            paused = update(schedules).where(this).values(state="paused").returning(schedules)
            return _schedule(connection.execute(paused).one())

        return await self._database.write(step)


def _mine(person_id: int, schedule_id: int) -> ColumnElement[bool]:
    return (schedules.c.id == schedule_id) & (schedules.c.person_id == person_id)


def _active(platform: str) -> Any:
    here = (schedules.c.platform == platform) & (schedules.c.state == "active")
    return select(schedules).where(here).order_by(schedules.c.next_at)


def _same(schedule: Schedule) -> ColumnElement[bool]:
    row, near = _row(schedule), schedules.c.next_at.between
    names = ("person_id", "platform", "chat_id", "thread_id", "kind", "text", "rule", "state")
    same = near(schedule.next_at - SAME_SECONDS, schedule.next_at + SAME_SECONDS)
    for name in names:
        same = same & (schedules.c[name] == row[name])
    return same


def _advance(connection: Connection, firing: Firing) -> bool:
    """Set the next time; False if the schedule has changed since it was read."""
    schedule = firing.schedule
    unchanged = (
        _mine(schedule.person_id, schedule.id)
        & (schedules.c.next_at == schedule.next_at)
        & (schedules.c.state == "active")
    )
    if firing.next_at is None:
        return connection.execute(delete(schedules).where(unchanged)).rowcount > 0
    return connection.execute(update(schedules).where(unchanged).values(next_at=firing.next_at)).rowcount > 0


def _row(schedule: Schedule) -> dict[str, Any]:
    return {
        "person_id": schedule.person_id,
        "platform": schedule.chat.platform,
        "chat_id": schedule.chat.chat_id,
        "thread_id": schedule.chat.thread_id,
        "private": schedule.private,
        "kind": schedule.kind,
        "text": schedule.text,
        "rule": schedule.rule,
        "time_zone": schedule.time_zone,
        "next_at": schedule.next_at,
        "state": schedule.state,
        "failures": schedule.failures,
        "created_at": schedule.created_at,
    }


def _schedule(row: Row[Any]) -> Schedule:
    return Schedule(
        person_id=row.person_id,
        chat=ChatKey(row.platform, row.chat_id, row.thread_id),
        private=row.private,
        kind=row.kind,
        text=row.text,
        rule=row.rule,
        time_zone=row.time_zone,
        next_at=row.next_at,
        created_at=row.created_at,
        state=row.state,
        failures=row.failures,
        id=row.id,
    )

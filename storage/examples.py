"""Examples of how people use tools and tiers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from routing.bounded import SizeBounded
from routing.ports import Clock
from routing.types.learning import MAX_ALL_EXAMPLES, MAX_EXAMPLES, Example, Lesson, Signal
from storage.database import Database
from storage.schema import examples, people

_OF = select(examples).where(examples.c.person_id == bindparam("person")).order_by(examples.c.id)

MAX_CACHED = 10_000
"""Maximum number of cached examples: about 5 MB. People without examples count as one."""
T = TypeVar("T")


class SqlExamples:
    """Implements `routing.ports.ExampleStore`. Caches what it reads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._cache = SizeBounded[int, tuple[Example, ...]](MAX_CACHED, lambda found: max(1, len(found)))
        self._changes = 0

    async def of(self, person_id: int) -> tuple[Example, ...]:
        if person_id not in self._cache:
            changes = self._changes
            rows = await self._database.read(lambda c: c.execute(_OF, {"person": person_id}).all())
            found = tuple(
                Example(row.id, Lesson(row.signal, row.subject), row.turn_id, row.encoder, row.vector, row.at)
                for row in rows
            )
            self.keep(person_id, found, changes)
            return found
        return self._cache[person_id]

    async def add(self, person_id: int, new: Sequence[Example]) -> None:
        at = self._clock()
        await self._write(lambda c: _add(c, person_id, new, at))

    async def remove(self, person_id: int, turn_id: str, signals: Collection[Signal]) -> None:
        mine = (examples.c.person_id == person_id, examples.c.turn_id == turn_id)
        these = delete(examples).where(*mine, examples.c.signal.in_(signals))
        await self._write(lambda c: c.execute(these))

    async def clear(self, person_id: int | None = None) -> int:
        these = delete(examples)
        if person_id is not None:
            these = these.where(examples.c.person_id == person_id)
        return await self._write(lambda c: c.execute(these).rowcount)

    def forget_cached(self, person_id: int | None = None) -> None:
        """Clear the cache, or what it has of one person."""
        self._changes += 1
        if person_id is None:
            self._cache.clear()
        else:
            self._cache.take(person_id)

    @property
    def changes(self) -> int:
        """Counts changes, for `keep`."""
        return self._changes

    def keep(self, person_id: int, found: tuple[Example, ...], changes: int) -> None:
        """Cache a person's examples, unless they may be stale: `changes` is the count before the read."""
        if changes == self._changes:
            self._cache[person_id] = found

    async def _write(self, step: Callable[[Connection], T]) -> T:
        """Run a step that changes examples, perhaps those of several people, and clear the cache."""
        try:
            return await self._database.write(step)
        finally:
            self.forget_cached()


def _add(connection: Connection, person_id: int, new: Sequence[Example], at: float) -> None:
    locked = select(people.c.id).where(people.c.id == person_id).with_for_update()
    if not new or connection.execute(locked).one_or_none() is None:
        return
    mine = examples.c.person_id == person_id
    for each in new:
        same = (examples.c.signal == each.lesson.signal) & (examples.c.subject == each.lesson.subject)
        connection.execute(delete(examples).where(mine, examples.c.turn_id == each.turn_id, same))
    connection.execute(insert(examples), [_row(person_id, each, at) for each in new])
    kept = select(examples.c.id).where(mine).order_by(examples.c.id.desc()).offset(MAX_EXAMPLES).limit(1)
    surplus = connection.execute(kept).scalar_one_or_none()
    if surplus is not None:
        connection.execute(delete(examples).where(mine, examples.c.id <= surplus))
    newest = connection.execute(select(func.max(examples.c.id))).scalar_one()
    connection.execute(delete(examples).where(examples.c.id <= newest - MAX_ALL_EXAMPLES))


def _row(person_id: int, example: Example, at: float) -> dict[str, object]:
    return {
        "person_id": person_id,
        "signal": example.lesson.signal,
        "subject": example.lesson.subject,
        "turn_id": example.turn_id,
        "at": at,
        "encoder": example.encoder,
        "vector": example.vector,
    }

"""Facts remembered about people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from routing.bounded import SizeBounded
from routing.errors import Refused
from routing.ports import Clock
from routing.types.memory import MAX_FACTS, Fact, fact_key
from storage.codec import NAMES
from storage.database import Database
from storage.schema import facts, people

_OF = select(facts).where(facts.c.person_id == bindparam("person")).order_by(facts.c.id)

MAX_CACHED = 20_000
"""Maximum number of cached facts: about 10 MB. People without facts count as one."""
T = TypeVar("T")
FULL = "I remember {most} things about you already. Delete some first: /memory."


class SqlFacts:
    """Implements `routing.ports.FactStore`. Caches what it reads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._cache = SizeBounded[int, tuple[Fact, ...]](MAX_CACHED, lambda found: max(1, len(found)))
        self._changes = 0

    async def of(self, person_id: int) -> tuple[Fact, ...]:
        if person_id not in self._cache:
            changes = self._changes
            found = await self._database.read(lambda c: _read(c, person_id))
            self.keep(person_id, found, changes)
            return found
        return self._cache[person_id]

    async def add(self, person_id: int, fact: Fact) -> Fact:
        at = self._clock()

        def step(connection: Connection) -> int:
            mine = _lock(connection, person_id)
            same = next((each for each in mine if fact_key(each.text) == fact_key(fact.text)), None)
            if same is not None:
                row = _row(replace(fact, at=at, pinned=fact.pinned or same.pinned))
                connection.execute(update(facts).where(facts.c.id == same.id).values(row))
                return same.id
            if len(mine) >= MAX_FACTS:
                raise Refused(FULL, most=MAX_FACTS)
            row = _row(replace(fact, at=at)) | {"person_id": person_id}
            added = connection.execute(insert(facts), row).inserted_primary_key
            assert added is not None
            return int(added[0])

        added, after = await self._write(person_id, step)
        return next(each for each in after if each.id == added)

    async def edit(self, person_id: int, fact_id: int, text: str) -> Fact | None:
        at = self._clock()

        def step(connection: Connection) -> None:
            key = fact_key(text)
            mine = _lock(connection, person_id)
            own = next((each for each in mine if each.id == fact_id), None)
            if own is None:
                return
            same = [each.id for each in mine if each.id != fact_id and fact_key(each.text) == key]
            connection.execute(delete(facts).where(_these(person_id, same)))
            row = _row(Fact(fact_id, text, at, "person", pinned=own.pinned))
            connection.execute(update(facts).where(facts.c.id == fact_id).values(row))

        _, after = await self._write(person_id, step)
        return next((each for each in after if each.id == fact_id), None)

    async def pin(self, person_id: int, fact_id: int, pinned: bool) -> Fact | None:
        one = update(facts).where(_these(person_id, [fact_id])).values(pinned=pinned)
        _, after = await self._write(person_id, lambda c: c.execute(one))
        return next((each for each in after if each.id == fact_id), None)

    async def delete(self, person_id: int, ids: Collection[int]) -> tuple[Fact, ...]:
        def step(connection: Connection) -> tuple[Fact, ...]:
            gone = tuple(each for each in _lock(connection, person_id) if each.id in ids)
            connection.execute(delete(facts).where(_these(person_id, [each.id for each in gone])))
            return gone

        return (await self._write(person_id, step))[0]

    def clear(self) -> None:
        """Clear the cache."""
        self._changes += 1
        self._cache.clear()

    def forget(self, person_id: int) -> None:
        """Clear a person's cached facts."""
        self._changes += 1
        self._cache.take(person_id)

    @property
    def changes(self) -> int:
        """Counts changes, for `keep`."""
        return self._changes

    def keep(self, person_id: int, found: tuple[Fact, ...], changes: int) -> None:
        """Cache a person's facts, unless they may be stale: `changes` is the count before the read."""
        if changes == self._changes:
            self._cache[person_id] = found

    async def _write(self, person_id: int, step: Callable[[Connection], T]) -> tuple[T, tuple[Fact, ...]]:
        """Run a step that changes a person's facts; returns its result and the facts after it."""

        def change_and_read(connection: Connection) -> tuple[T, tuple[Fact, ...]]:
            return step(connection), _read(connection, person_id)

        before = self._changes
        try:
            done = await self._database.write(change_and_read)
        finally:
            latest = self._changes == before  # otherwise another change may have ended first
            self._changes += 1
            self._cache.take(person_id)
        if latest:
            self.keep(person_id, done[1], self._changes)
        return done


def merge_facts(connection: Connection, was: int, person_id: int) -> None:
    """Delete the facts of `was` that `person_id` has, too; the others can then be moved."""
    known = {fact_key(each.text) for each in _read(connection, person_id)}
    same = [each.id for each in _read(connection, was) if fact_key(each.text) in known]
    connection.execute(delete(facts).where(_these(was, same)))


def _lock(connection: Connection, person_id: int) -> tuple[Fact, ...]:
    """The person's facts. On PostgreSQL, other writers wait."""
    connection.execute(select(people.c.id).where(people.c.id == person_id).with_for_update())
    return _read(connection, person_id)


def _read(connection: Connection, person_id: int) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            row.id,
            row.text,
            row.at,
            row.author,
            row.conversation_id,
            row.turn_id,
            NAMES.load(row.sources),
            row.pinned,
        )
        for row in connection.execute(_OF, {"person": person_id})
    )


def _row(fact: Fact) -> dict[str, object]:
    return {
        "text": fact.text,
        "at": fact.at,
        "author": fact.author,
        "conversation_id": fact.conversation_id,
        "turn_id": fact.turn_id,
        "sources": NAMES.dump(fact.sources),
        "pinned": fact.pinned,
    }


def _these(person_id: int, ids: Sequence[int]) -> ColumnElement[bool]:
    return (facts.c.person_id == person_id) & facts.c.id.in_(ids)

"""Lists of people for the admin page, with numbers about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select

from routing.types.directory import ListedPerson, PeopleFilter, PeoplePage
from routing.types.messages import UserKey
from routing.types.people import Person, Role
from storage.database import Database
from storage.schema import identities, people, schedules, service_accounts, usage_hours
from storage.usage.hours import HOUR

_MAX_SEARCH = 100


class SqlDirectory:
    """Implements `routing.ports.PeopleDirectory`. A page takes six statements, however many people there are."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: PeopleFilter, limit: int, offset: int = 0) -> PeoplePage:
        matching = _matching(wanted)
        count = select(func.count()).select_from(people).where(*matching)
        rows = select(people).where(*matching)
        if wanted.with_schedules:
            first = select(schedules.c.person_id, func.min(schedules.c.next_at).label("next_at"))
            first = first.where(schedules.c.state == "active").group_by(schedules.c.person_id)
            due = first.subquery()
            rows = rows.outerjoin(due, due.c.person_id == people.c.id)
            rows = rows.order_by(due.c.next_at.is_(None), due.c.next_at, people.c.id)
        else:
            rows = rows.order_by(people.c.id.desc())

        def step(connection: Connection) -> PeoplePage:
            total = connection.execute(count).scalar_one()
            return PeoplePage(_listed(connection, rows.limit(limit).offset(offset)), total)

        return await self._database.read(step)

    async def get(self, person_id: int) -> ListedPerson | None:
        found = await self._database.read(lambda c: _listed(c, select(people).where(people.c.id == person_id)))
        return found[0] if found else None

    async def roles(self) -> Mapping[Role, int]:
        counts = select(people.c.role, func.count().label("n")).group_by(people.c.role)
        rows = await self._database.read(lambda c: c.execute(counts).all())
        return {row.role: row.n for row in rows}

    async def connected(self) -> Mapping[str, int]:
        counts = select(service_accounts.c.kind, func.count().label("n")).group_by(service_accounts.c.kind)
        rows = await self._database.read(lambda c: c.execute(counts.order_by(service_accounts.c.kind)).all())
        return {row.kind: row.n for row in rows}


def _matching(wanted: PeopleFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    text = wanted.search.strip().replace("\0", "")[:_MAX_SEARCH].removeprefix("@")
    if text:
        platform, colon, user_id = text.partition(":")
        same = identities.c.user_id == text
        if colon:
            same = or_(same, and_(identities.c.platform == platform.lower(), identities.c.user_id == user_id))
        handle = identities.c.username.icontains(text, autoescape=True)
        account = exists().where(identities.c.person_id == people.c.id, or_(handle, same))
        found.append(or_(people.c.name.icontains(text, autoescape=True), account))
    if wanted.role is not None:
        found.append(people.c.role == wanted.role)
    if wanted.with_schedules:
        found.append(exists().where(schedules.c.person_id == people.c.id))
    return found


def _listed(connection: Connection, query: Select[Any]) -> tuple[ListedPerson, ...]:
    rows = connection.execute(query).all()
    ids = [row.id for row in rows]
    if not ids:
        return ()
    accounts: dict[int, list[tuple[UserKey, str]]] = {}
    theirs = select(identities).where(identities.c.person_id.in_(ids)).order_by(identities.c.linked_at)
    for row in connection.execute(theirs):
        accounts.setdefault(row.person_id, []).append((UserKey(row.platform, row.user_id), row.username))
    used = _grouped(
        connection,
        ids,
        usage_hours.c.person_id,
        func.count(usage_hours.c.conversation_id.distinct()).label("n"),
        func.max(usage_hours.c.hour).label("last"),
    )
    active = func.min(schedules.c.next_at).filter(schedules.c.state == "active").label("next_at")
    planned = _grouped(connection, ids, schedules.c.person_id, func.count().label("n"), active)
    connected = _grouped(connection, ids, service_accounts.c.person_id, func.count().label("n"))
    return tuple(
        ListedPerson(
            person=Person(row.id, row.role, row.name),
            accounts=tuple(key for key, _ in accounts.get(row.id, ())),
            usernames=tuple(name for _, name in accounts.get(row.id, ())),
            created_at=row.created_at,
            conversations=used[row.id].n if row.id in used else 0,
            last_hour=float(used[row.id].last * HOUR) if row.id in used else None,
            schedules=planned[row.id].n if row.id in planned else 0,
            next_at=planned[row.id].next_at if row.id in planned else None,
            connected=connected[row.id].n if row.id in connected else 0,
        )
        for row in rows
    )


def _grouped(connection: Connection, ids: Sequence[int], key: Any, *columns: Any) -> dict[int, Any]:
    """One row per person that has any, by id."""
    query = select(key.label("person_id"), *columns).where(key.in_(ids)).group_by(key)
    return {row.person_id: row for row in connection.execute(query)}

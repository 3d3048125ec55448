"""Which accounts are one person's, and the codes that join them."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from routing.ports import Clock
from routing.types import Person, UserKey
from storage.codec import OUTBOUND
from storage.database import Database
from storage.people import SqlPeople
from storage.schema import audit, identities, links, metadata, outbox, overrides, pairings, people, preferences


class SqlLinks:
    """`routing.stores.LinkStore`."""

    def __init__(self, database: Database, known: SqlPeople, clock: Clock) -> None:
        self._database = database
        self._known = known
        self._clock = clock

    async def offer(self, person_id: int, code: str, expires_at: float) -> None:
        def step(connection: Connection) -> None:
            connection.execute(delete(links).where(links.c.person_id == person_id))
            connection.execute(insert(links), {"person_id": person_id, "code": code, "expires_at": expires_at})

        await self._database.write(step)

    async def find(self, code: str) -> Person | None:
        valid = (links.c.code == code) & (links.c.expires_at > self._clock())
        question = select(identities).join(links, links.c.person_id == identities.c.person_id).where(valid).limit(1)
        row = await self._database.read(lambda c: c.execute(question).one_or_none())
        return None if row is None else await self._known.find(UserKey(row.platform, row.user_id))

    async def join(self, code: str, user: UserKey, actor: str) -> None:
        now = self._clock()
        changed = await self._database.write(lambda c: _join(c, code, user, actor, now))
        self._known.reread(*changed)

    async def part(self, user: UserKey, actor: str) -> None:
        now = self._clock()

        def step(connection: Connection) -> None:
            connection.execute(delete(identities).where(_of(user)))
            connection.execute(insert(audit), {"at": now, "actor": actor, "action": "unlink", "detail": str(user)})

        await self._database.write(step)
        self._known.reread()

    async def accounts(self, person_id: int) -> tuple[UserKey, ...]:
        question = select(identities).where(identities.c.person_id == person_id).order_by(identities.c.platform)
        rows = await self._database.read(lambda c: c.execute(question).all())
        return tuple(UserKey(row.platform, row.user_id) for row in rows)


def _of(user: UserKey) -> ColumnElement[bool]:
    return (identities.c.platform == user.platform) & (identities.c.user_id == user.user_id)


def _join(connection: Connection, code: str, user: UserKey, actor: str, now: float) -> tuple[int, ...]:
    """The people who were changed by it."""
    person_id = connection.execute(select(links.c.person_id).where(links.c.code == code)).scalar_one()
    was = connection.execute(select(identities.c.person_id).where(_of(user))).scalar_one_or_none()
    connection.execute(delete(links).where(links.c.person_id.in_([person_id, was])))
    asked = (pairings.c.platform == user.platform) & (pairings.c.user_id == user.user_id)
    connection.execute(delete(pairings).where(asked))
    detail = f"{user} with person {person_id}"
    if was is None:
        account = {"platform": user.platform, "user_id": user.user_id, "person_id": person_id}
        connection.execute(insert(identities), account)
    else:
        detail += f", was person {was}"
        _hand_over(connection, was, person_id)
    connection.execute(insert(audit), {"at": now, "actor": actor, "action": "link", "detail": detail})
    return (person_id,) if was is None else (person_id, was)


def _hand_over(connection: Connection, was: int, person_id: int) -> None:
    """All that is kept of one person becomes another's; of what there can be only one, the other's own stays."""
    taken = select(overrides.c.tier).where(overrides.c.person_id == person_id)
    connection.execute(delete(overrides).where(overrides.c.person_id == was, overrides.c.tier.in_(taken)))
    if connection.execute(select(preferences).where(preferences.c.person_id == person_id)).one_or_none():
        connection.execute(delete(preferences).where(preferences.c.person_id == was))
    for table in metadata.sorted_tables:
        if "person_id" in table.c:
            connection.execute(update(table).where(table.c.person_id == was).values(person_id=person_id))
    theirs = select(outbox.c.id, outbox.c.payload).where(outbox.c.payload.contains(f'"owner":{was}'))
    for row in connection.execute(theirs).all():
        message = OUTBOUND.load(row.payload)
        if message.owner == was:
            mine = OUTBOUND.dump(replace(message, owner=person_id))
            connection.execute(update(outbox).where(outbox.c.id == row.id).values(payload=mine))
    connection.execute(delete(people).where(people.c.id == was))

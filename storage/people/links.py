"""Accounts of one person, and the codes that link them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from routing.errors import Refused
from routing.one_time_codes import hashed, matches
from routing.ports import Clock
from routing.types.lease import Lease
from routing.types.messages import OutboundMessage, UserKey
from routing.types.people import Account, Adoption, Person
from routing.types.queues import OutboxEntry
from storage.audit import write_audit
from storage.codec import OUTBOUND
from storage.database import Database
from storage.facts import merge_facts
from storage.outbox import queue
from storage.people.forgetting import ADOPTION
from storage.people.people import SqlPeople
from storage.schema import (
    identities,
    links,
    metadata,
    outbox,
    overrides,
    people,
    preferences,
    service_accounts,
    state,
)
from storage.upsert import insert_if_new, upsert


class SqlLinks:
    """Implements `routing.ports.LinkStore`."""

    def __init__(
        self, database: Database, people: SqlPeople, clock: Clock, steady: Clock, lease: Lease | None = None
    ) -> None:
        """With a lease, this process sends notices to the chats that it handles."""
        self._database = database
        self._people = people
        self._clock = clock
        self._steady = steady
        self._lease = lease

    async def offer(self, person_id: int, code: str, seconds: float) -> None:
        now = self._steady()
        row = {"person_id": person_id, "code_hash": hashed(code), "expires_at": now + seconds}

        def step(connection: Connection) -> None:
            connection.execute(delete(links).where(links.c.expires_at <= now))
            upsert(connection, links, row)

        await self._database.write(step)

    async def find(self, code: str) -> Person | None:
        now = self._steady()

        def step(connection: Connection) -> UserKey | None:
            owner_id = _code_owner(connection, code, now)
            if owner_id is None:
                return None
            row = connection.execute(
                select(identities).where(identities.c.person_id == owner_id).limit(1)
            ).one_or_none()
            return None if row is None else UserKey(row.platform, row.user_id)

        user = await self._database.read(step)
        return None if user is None else await self._people.find(user)

    async def expire_code(self, code: str) -> bool:
        now = self._steady()

        def step(connection: Connection) -> bool:
            owner_id = _code_owner(connection, code, now)
            return connection.execute(delete(links).where(links.c.person_id == owner_id)).rowcount > 0

        return await self._database.write(step)

    async def join(
        self, code: str, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        now, steady = self._clock(), self._steady()

        def step(connection: Connection) -> tuple[int, int | None, tuple[OutboxEntry, ...]]:
            return (*_join(connection, code, user, actor, now, steady), queue(connection, notices, now, self._lease))

        try:
            person_id, was, queued = await self._database.write(step)
        finally:
            self._people.clear_all()  # also if cancelled: it may still be committed
        if was is not None:
            self._people.merged(was, person_id)
        return queued

    async def unlink(
        self, person_id: int, user: UserKey, actor: str, notices: Sequence[OutboundMessage] = ()
    ) -> tuple[OutboxEntry, ...]:
        now = self._clock()

        def step(connection: Connection) -> tuple[OutboxEntry, ...]:
            connection.execute(delete(identities).where(_is_account(user)))
            connection.execute(delete(links).where(links.c.person_id == person_id))
            write_audit(connection, now, actor, "unlink", str(user))
            return queue(connection, notices, now, self._lease)

        try:
            return await self._database.write(step)
        finally:
            self._people.clear_all()

    async def accounts(self, person_id: int) -> tuple[Account, ...]:
        query = select(identities).where(identities.c.person_id == person_id)
        in_order = query.order_by(identities.c.linked_at, identities.c.platform)
        rows = await self._database.read(lambda c: c.execute(in_order).all())
        return tuple(Account(UserKey(row.platform, row.user_id), row.linked_at) for row in rows)

    async def adoptions(self) -> tuple[Adoption, ...]:
        waiting = select(state).where(state.c.key.startswith(ADOPTION))
        rows = await self._database.read(lambda c: c.execute(waiting).all())
        return tuple(Adoption(int(row.key.removeprefix(ADOPTION)), int(row.value)) for row in rows)

    async def adopted(self, adoption: Adoption) -> None:
        done = delete(state).where(state.c.key == f"{ADOPTION}{adoption.was}")
        await self._database.write(lambda c: c.execute(done))


def _is_account(user: UserKey) -> ColumnElement[bool]:
    return (identities.c.platform == user.platform) & (identities.c.user_id == user.user_id)


def _code_owner(connection: Connection, code: str, now: float, lock: bool = False) -> int | None:
    """The person who created this code; None if the code is unknown or expired. With a lock, no other transaction can
    use it up before this one ends."""
    query = select(links).where(links.c.expires_at > now)
    valid = connection.execute(query.with_for_update() if lock else query)
    return next((row.person_id for row in valid if matches(code, row.code_hash)), None)


def _join(
    connection: Connection, code: str, user: UserKey, actor: str, now: float, steady: float
) -> tuple[int, int | None]:
    """Link the account. Returns the id of the code's creator, and of the person the account belonged to, if any. Raises
    Refused if the code has expired meanwhile."""
    person_id = _code_owner(connection, code, steady, lock=True)
    if person_id is None:
        words = "The code {code} is not valid, or has expired. /access link on your other account makes a new one."
        raise Refused(words, code=code)
    account = {"platform": user.platform, "user_id": user.user_id, "person_id": person_id, "linked_at": now}
    added = insert_if_new(connection, identities, account)
    known = select(identities.c.person_id).where(_is_account(user)).with_for_update()
    was = None if added else connection.scalar(known)
    connection.execute(delete(links).where(links.c.person_id.in_([person_id, was])))
    change = f"person {person_id}"
    if was is not None:
        change += f", was person {was}"
        connection.execute(update(identities).where(identities.c.person_id == was).values(linked_at=now))
        _merge_people(connection, was, person_id)
        connection.execute(insert(state), {"key": f"{ADOPTION}{was}", "value": str(person_id)})
    write_audit(connection, now, actor, "link", str(user), change)
    return person_id, was


def _merge_people(connection: Connection, was: int, person_id: int) -> None:
    """Merge one person into another. Where both have set something, the value of `person_id` stays."""
    both = select(people.c.id).where(people.c.id.in_([was, person_id])).order_by(people.c.id)
    connection.execute(both.with_for_update())  # until running turns and settings are stored
    taken = select(overrides.c.tier).where(overrides.c.person_id == person_id)
    connection.execute(delete(overrides).where(overrides.c.person_id == was, overrides.c.tier.in_(taken)))
    _merge_preferences(connection, was, person_id)
    _merge_accounts(connection, was, person_id)
    merge_facts(connection, was, person_id)
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


def _merge_accounts(connection: Connection, was: int, person_id: int) -> None:
    """Drop accounts of the same kind and label that both people have."""
    mine = select(service_accounts.c.kind, service_accounts.c.label).where(service_accounts.c.person_id == person_id)
    for kind, label in connection.execute(mine).all():
        same = (service_accounts.c.kind == kind) & (service_accounts.c.label == label)
        connection.execute(delete(service_accounts).where(service_accounts.c.person_id == was, same))


def _merge_preferences(connection: Connection, was: int, person_id: int) -> None:
    """Merge preferences column by column: a column with its default value counts as not set. The lock (`force`) goes
    with the tier."""
    both = select(preferences).where(preferences.c.person_id.in_([was, person_id]))
    found = {row["person_id"]: row for row in connection.execute(both).mappings()}
    if len(found) < 2:
        return
    theirs, mine = found[was], found[person_id]
    columns = [column for column in preferences.c if column.name not in ("person_id", "tier", "force")]
    usual = {column.name: getattr(column.default, "arg", None) for column in columns}
    taken = {name: theirs[name] for name, default in usual.items() if mine[name] == default != theirs[name]}
    if mine["tier"] is None:
        taken |= {"tier": theirs["tier"], "force": theirs["force"]}
    if taken:
        connection.execute(update(preferences).where(preferences.c.person_id == person_id).values(**taken))
    connection.execute(delete(preferences).where(preferences.c.person_id == was))

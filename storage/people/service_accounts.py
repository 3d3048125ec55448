"""Accounts with other services that people have connected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from math import inf
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from routing.bounded import Bounded
from routing.ports import Clock
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.messages import ChatKey, UserKey
from storage.codec import DETAILS
from storage.database import Database
from storage.schema import connect_hints, connect_steps, people, service_accounts
from storage.upsert import upsert

_OF = (
    select(service_accounts).where(service_accounts.c.person_id == bindparam("person")).order_by(service_accounts.c.id)
)
_Steps = dict[tuple[ChatKey, UserKey], ConnectStep]
_T = TypeVar("_T")


class SqlServiceAccounts:
    """Implements `routing.ports.ServiceAccountStore`. Caches what every message needs to know: the accounts of its
    sender, the unfinished steps, and who was told about /connect."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._cache = Bounded[int, tuple[ServiceAccount, ...]]()
        self._steps: _Steps | None = None
        self._told = Bounded[tuple[int, str], float]()
        self._changes = 0

    async def of(self, person_id: int) -> tuple[ServiceAccount, ...]:
        if person_id in self._cache:
            return self._cache[person_id]
        changes = self._changes
        found = await self._database.read(lambda c: _read(c, person_id))
        self.keep(person_id, found, changes)
        return found

    async def put(self, account: ServiceAccount) -> None:
        await self._change(account.person_id, _stored(account))

    async def connect(self, account: ServiceAccount, step: ConnectStep, alone: bool) -> None:
        others = delete(service_accounts).where(
            service_accounts.c.person_id == account.person_id, service_accounts.c.kind == account.kind
        )
        store = _stored(account)

        def change(connection: Connection) -> None:
            if alone:
                connection.execute(others)
            store(connection)
            connection.execute(delete(connect_steps).where(_is_step(step)))

        try:
            await self._change(account.person_id, change)
        finally:
            self._steps = None

    async def remove(self, person_id: int, kind: str, label: str | None = None) -> int:
        gone = delete(service_accounts).where(
            service_accounts.c.person_id == person_id, service_accounts.c.kind == kind
        )
        if label is not None:
            gone = gone.where(service_accounts.c.label == label)
        return await self._change(person_id, lambda c: c.execute(gone).rowcount)

    async def reseal(self, resealed: Callable[[Collection[str]], Awaitable[Mapping[str, str]]]) -> int:
        """Replace encrypted passwords as `resealed` says; returns how many were replaced."""
        accounts = service_accounts.c
        rows = await self._database.read(lambda c: c.execute(select(accounts.id, accounts.sealed)).all())
        new = await resealed([row.sealed for row in rows])

        def step(connection: Connection) -> int:
            changes = (
                update(service_accounts)
                .where(accounts.id == row.id, accounts.sealed == row.sealed)
                .values(sealed=new[row.sealed])
                for row in rows
                if row.sealed in new
            )
            return sum(connection.execute(change).rowcount for change in changes)

        try:
            return await self._database.write(step) if new else 0
        finally:
            self.clear()

    async def steps(self) -> Mapping[tuple[ChatKey, UserKey], ConnectStep]:
        if self._steps is not None:
            return self._steps
        changes, found = self._changes, await self._database.read(_read_steps)
        if changes == self._changes:
            self._steps = found
        return found

    async def set_step(self, step: ConnectStep) -> None:
        row = {
            "person_id": step.person_id,
            "platform": step.chat.platform,
            "user_id": step.user.user_id,
            "chat_id": step.chat.chat_id,
            "thread_id": step.chat.thread_id,
            "kind": step.kind,
            "details": DETAILS.dump(dict(step.details)),
            "expires_at": step.expires_at,
        }

        await self._change_steps(lambda c: upsert(c, connect_steps, row))

    async def end_step(self, step: ConnectStep) -> None:
        await self._change_steps(lambda c: c.execute(delete(connect_steps).where(_is_step(step))))

    async def sweep(self, before: float) -> None:
        old = delete(connect_steps).where(connect_steps.c.expires_at < before)
        if await self._database.write(lambda c: c.execute(old).rowcount):
            self._changes += 1
            self._steps = None

    async def hint(self, person_id: int, kinds: Sequence[str], since: float) -> tuple[str, ...]:
        asked = [kind for kind in kinds if self._told.get((person_id, kind), -inf) < since]
        if not asked:
            return ()
        now, changes = self._clock(), self._changes

        def step(connection: Connection) -> dict[str, float]:
            if connection.scalar(select(people.c.id).where(people.c.id == person_id).with_for_update()) is None:
                return dict.fromkeys(asked, now)  # forgotten meanwhile
            theirs = connect_hints.c.person_id == person_id
            told = {row.kind: row.at for row in connection.execute(select(connect_hints).where(theirs))}
            new = [kind for kind in asked if told.get(kind, -inf) < since]
            if new:
                connection.execute(delete(connect_hints).where(theirs, connect_hints.c.kind.in_(new)))
                connection.execute(insert(connect_hints), [{"person_id": person_id, "kind": k, "at": now} for k in new])
            return {kind: told[kind] for kind in asked if kind not in new}

        told = await self._database.write(step)
        if changes == self._changes:
            for kind in asked:
                self._told[person_id, kind] = told.get(kind, now)
        return tuple(kind for kind in asked if kind not in told)

    def clear(self) -> None:
        """Clear the caches. A read that has begun is not cached."""
        self._changes += 1
        self._cache.clear()
        self._steps = None
        self._told.clear()

    def forget(self, person_id: int) -> None:
        """Clear a person's cached accounts."""
        self._changes += 1
        self._cache.pop(person_id, None)

    @property
    def changes(self) -> int:
        """Counts changes, for `keep`."""
        return self._changes

    def keep(self, person_id: int, found: tuple[ServiceAccount, ...], changes: int) -> None:
        """Cache a person's accounts, unless they may be stale: `changes` is the count before the read."""
        if changes == self._changes:
            self._cache[person_id] = found

    async def _change(self, person_id: int, step: Callable[[Connection], _T]) -> _T:
        """Run a step that changes a person's accounts. They are not cached then, even if the caller is cancelled."""
        try:
            return await self._database.write(step)
        finally:
            self._changes += 1
            self._cache.pop(person_id, None)

    async def _change_steps(self, step: Callable[[Connection], object]) -> None:
        try:
            await self._database.write(step)
        finally:
            self._changes += 1
            self._steps = None


def _read(connection: Connection, person_id: int) -> tuple[ServiceAccount, ...]:
    return tuple(
        ServiceAccount(
            row.person_id, row.kind, row.label, DETAILS.load(row.details), row.sealed, row.created_at, row.tested_at
        )
        for row in connection.execute(_OF, {"person": person_id})
    )


def _read_steps(connection: Connection) -> _Steps:
    found: _Steps = {}
    for row in connection.execute(select(connect_steps)):
        user, chat = UserKey(row.platform, row.user_id), ChatKey(row.platform, row.chat_id, row.thread_id)
        details = DETAILS.load(row.details)
        found[chat, user] = ConnectStep(row.person_id, user, chat, row.kind, details, row.expires_at)
    return found


def _stored(account: ServiceAccount) -> Callable[[Connection], None]:
    """A step that stores an account instead of the one with its label."""
    row = {
        "person_id": account.person_id,
        "kind": account.kind,
        "label": account.label[:200],
        "details": DETAILS.dump(dict(account.details)),
        "sealed": account.sealed,
        "created_at": account.created_at,
        "tested_at": account.tested_at,
    }
    same = delete(service_accounts).where(
        service_accounts.c.person_id == account.person_id,
        service_accounts.c.kind == account.kind,
        service_accounts.c.label == row["label"],
    )

    def step(connection: Connection) -> None:
        connection.execute(same)
        connection.execute(insert(service_accounts), row)

    return step


def _is_step(step: ConnectStep) -> ColumnElement[bool]:
    return (
        (connect_steps.c.platform == step.chat.platform)
        & (connect_steps.c.chat_id == step.chat.chat_id)
        & (connect_steps.c.thread_id == step.chat.thread_id)
        & (connect_steps.c.user_id == step.user.user_id)
    )

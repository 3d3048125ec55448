"""Accounts with other services that people have connected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, delete, insert, select

from routing.ports import Clock
from routing.types.accounts import ConnectStep, ServiceAccount
from routing.types.messages import ChatKey, UserKey
from storage.codec import DETAILS
from storage.database import Database
from storage.schema import connect_hints, connect_steps, service_accounts

_ALL = select(service_accounts).order_by(service_accounts.c.id)
_T = TypeVar("_T")


class SqlServiceAccounts:
    """Implements `routing.ports.ServiceAccountStore`. Caches all accounts: they are few, and every message needs to
    know which ones its sender has."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._cache: dict[int, tuple[ServiceAccount, ...]] | None = None
        self._changes = 0

    async def of(self, person_id: int) -> tuple[ServiceAccount, ...]:
        known = self._cache
        if known is None:
            changes, known = self._changes, await self._database.read(_read)
            if changes == self._changes:
                self._cache = known
        return known.get(person_id, ())

    async def put(self, account: ServiceAccount) -> None:
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

        await self._change(step)

    async def remove(self, person_id: int, kind: str, label: str | None = None) -> int:
        gone = delete(service_accounts).where(
            service_accounts.c.person_id == person_id, service_accounts.c.kind == kind
        )
        if label is not None:
            gone = gone.where(service_accounts.c.label == label)
        return await self._change(lambda c: c.execute(gone).rowcount)

    async def steps(self) -> tuple[ConnectStep, ...]:
        rows = await self._database.read(lambda c: c.execute(select(connect_steps)).all())
        return tuple(
            ConnectStep(
                row.person_id,
                UserKey(row.platform, row.user_id),
                ChatKey(row.platform, row.chat_id, row.thread_id),
                row.kind,
                DETAILS.load(row.details),
                row.expires_at,
            )
            for row in rows
        )

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

        def store(connection: Connection) -> None:
            connection.execute(delete(connect_steps).where(connect_steps.c.person_id == step.person_id))
            connection.execute(insert(connect_steps), row)

        await self._database.write(store)

    async def end_step(self, person_id: int) -> None:
        ended = delete(connect_steps).where(connect_steps.c.person_id == person_id)
        await self._database.write(lambda c: c.execute(ended))

    async def hint(self, person_id: int, kind: str, since: float) -> bool:
        now = self._clock()
        told = (connect_hints.c.person_id == person_id) & (connect_hints.c.kind == kind)

        def step(connection: Connection) -> bool:
            if connection.execute(select(connect_hints.c.id).where(told, connect_hints.c.at >= since).limit(1)).first():
                return False
            connection.execute(delete(connect_hints).where(told))
            connection.execute(insert(connect_hints), {"person_id": person_id, "kind": kind, "at": now})
            return True

        return await self._database.write(step)

    def clear(self) -> None:
        """Clear the cache. A read that has begun is not cached."""
        self._changes += 1
        self._cache = None

    async def _change(self, step: Callable[[Connection], _T]) -> _T:
        """Run a step that changes accounts, and clear the cache, even if the caller is cancelled."""
        try:
            return await self._database.write(step)
        finally:
            self.clear()


def _read(connection: Connection) -> dict[int, tuple[ServiceAccount, ...]]:
    found: dict[int, tuple[ServiceAccount, ...]] = {}
    for row in connection.execute(_ALL):
        account = ServiceAccount(
            row.person_id, row.kind, row.label, DETAILS.load(row.details), row.sealed, row.created_at, row.tested_at
        )
        found[row.person_id] = (*found.get(row.person_id, ()), account)
    return found

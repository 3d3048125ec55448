"""Incoming messages, stored before they are acknowledged to the platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, select, text, update

from routing.ports import Clock
from routing.types.lease import Lease
from routing.types.messages import InboundMessage
from routing.types.queues import InboxEntry
from routing.types.turns import TurnSettings
from storage.codec import FIXED, INBOUND
from storage.database import Database
from storage.fence import change_own
from storage.schema import inbox
from storage.unreadable import readable, set_aside

_INSERT = text(
    "insert into inbox (platform, bot_id, update_id, chat, payload, state, attempts, placeholder, received_at, fixed) "
    "values (:platform, :bot_id, :update_id, :chat, :payload, 'waiting', 0, '', :received_at, '') "
    "on conflict (platform, bot_id, update_id) do nothing returning id"
)
_TAKE = text(
    "update inbox set worker = :own_id where chat = any(:chats) and state = 'waiting' and worker is null "
    "and exists (select from claims where claims.chat = inbox.chat and process_id = :own_id) returning *"
)
"""Only for PostgreSQL."""
_UNFINISHED = select(inbox).where(inbox.c.state == "waiting").order_by(inbox.c.id)
_OLDEST = select(func.min(inbox.c.received_at)).where(inbox.c.state == "waiting")
_BEGIN = update(inbox).where(inbox.c.id == bindparam("inbox_id")).values(attempts=inbox.c.attempts + 1)
_PLACEHOLDER = update(inbox).where(inbox.c.id == bindparam("inbox_id")).values(placeholder=bindparam("message_id"))
_FIX = update(inbox).where(inbox.c.id == bindparam("inbox_id")).values(fixed=bindparam("settings"))


class SqlInbox:
    """Implements `routing.ports.InboxStore`."""

    def __init__(self, database: Database, clock: Clock, lease: Lease | None = None) -> None:
        """With a lease, only messages that this process handles can be changed."""
        self._database = database
        self._clock = clock
        self._lease = lease

    async def accept(self, messages: Sequence[InboundMessage]) -> tuple[InboxEntry, ...]:
        now = self._clock()

        def step(connection: Connection) -> tuple[InboxEntry, ...]:
            kept = [insert_new(connection, message, now, self._lease) for message in messages]
            new = tuple(entry for entry in kept if entry is not None)
            return new if self._lease is None else _take_held(connection, new, self._lease)

        return await self._database.write(step)

    async def unfinished(self) -> tuple[InboxEntry, ...]:
        rows = await self._database.read(lambda c: c.execute(_UNFINISHED).all())
        return tuple(read_message(row) for row in rows)

    async def set_aside(self) -> int:
        return await self._database.write(lambda c: set_aside(c, inbox, inbox.c.state == "waiting", read_message))

    async def begin(self, inbox_ids: Sequence[int]) -> None:
        values = [{"inbox_id": each} for each in inbox_ids]
        await self._database.write(lambda c: change_own(c, _BEGIN, values, self._lease))

    async def placeholder(self, inbox_id: int, message_id: str) -> None:
        values = {"inbox_id": inbox_id, "message_id": message_id}
        await self._database.write(lambda c: change_own(c, _PLACEHOLDER, [values], self._lease))

    async def fix(self, settings: Mapping[int, TurnSettings]) -> None:
        values = [{"inbox_id": each, "settings": FIXED.dump(fixed)} for each, fixed in settings.items()]
        await self._database.write(lambda c: change_own(c, _FIX, values, self._lease))

    async def oldest_unfinished(self) -> float | None:
        return await self._database.read(lambda c: c.execute(_OLDEST).scalar_one())

    async def sweep(self, before: float) -> None:
        old = delete(inbox).where(inbox.c.state == "done", inbox.c.received_at < before)
        await self._database.write(lambda c: c.execute(old))


def insert_new(
    connection: Connection, message: InboundMessage, now: float, lease: Lease | None = None
) -> InboxEntry | None:
    """Store a message within the caller's transaction; None for a duplicate. With a lease, nobody handles it yet."""
    row = {
        "platform": message.chat.platform,
        "bot_id": message.bot_id,
        "update_id": message.update_id,
        "chat": message.chat.claim,
        "payload": INBOUND.dump(message),
        "received_at": now,
    }
    added = connection.execute(_INSERT, row).scalar_one_or_none()
    return None if added is None else InboxEntry(added, message, 0, "", held=lease is None)


def _take_held(connection: Connection, new: Sequence[InboxEntry], lease: Lease) -> tuple[InboxEntry, ...]:
    """The new messages. Those in chats that this process has claimed are now held, with older ones that nobody has."""
    chats = {entry.message.chat.claim for entry in new if lease.holds(entry.message.chat)}
    if not chats:
        return tuple(new)
    rows = connection.execute(_TAKE, {"chats": list(chats), "own_id": lease.process_id})
    taken = {entry.id: entry for entry in readable(connection, inbox, rows, read_message)}
    return tuple(sorted(({entry.id: entry for entry in new} | taken).values(), key=lambda entry: entry.id))


def read_message(row: Row[Any]) -> InboxEntry:
    """The entry of a row of the table."""
    return InboxEntry(
        row.id, INBOUND.load(row.payload), row.attempts, row.placeholder, FIXED.load(row.fixed) if row.fixed else None
    )

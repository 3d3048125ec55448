"""Small values that survive a restart, and settings of chats."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import BindParameter, Connection, bindparam, delete, literal, or_, select, union, update

from routing.bounded import Bounded
from routing.ports import Clock
from routing.types.messages import ChatKey
from storage.audit import write_audit
from storage.codec import INBOUND
from storage.database import Database
from storage.schema import chats, conversations, inbox, messages, outbox, schedules, state
from storage.upsert import upsert

_HERE: BindParameter[str] = bindparam("here")
_SINCE: BindParameter[float] = bindparam("since")
_LAST_AT = (
    select(messages.c.at)
    .where(messages.c.conversation_id == conversations.c.id)
    .correlate(conversations)
    .order_by(messages.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_TALKED = select(conversations.c.chat_id, conversations.c.thread_id).where(
    conversations.c.platform == _HERE,
    or_(conversations.c.ended_at.is_(None), conversations.c.ended_at >= _SINCE),
    _LAST_AT >= _SINCE,
)
_ANSWERED = select(outbox.c.chat_id, outbox.c.thread_id).where(
    outbox.c.platform == _HERE, outbox.c.created_at >= _SINCE
)
_ALLOWED = select(chats.c.chat_id, literal("")).where(chats.c.platform == _HERE, chats.c.allowed)
_KNOWN = union(_TALKED, _ANSWERED, _ALLOWED)
_WAITING = select(inbox.c.payload).where(inbox.c.platform == _HERE, inbox.c.state == "waiting")

_CACHE_SIZE = 10_000
"""Maximum number of cached chats; a bot can be added to any number of groups."""


class SqlState:
    """Implements `routing.ports.StateStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, key: str) -> str | None:
        query = select(state.c.value).where(state.c.key == key)
        return await self._database.read(lambda c: c.execute(query).scalar_one_or_none())

    async def put(self, key: str, value: str | None) -> None:
        def step(connection: Connection) -> None:
            if value is None:
                connection.execute(delete(state).where(state.c.key == key))
            else:
                upsert(connection, state, {"key": key, "value": value})

        await self._database.write(step)


class SqlChats:
    """Implements `routing.ports.ChatStore` and `KnownChats`. Caches what it reads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._cache = Bounded[tuple[str, str], tuple[bool, bool, bool | None]](_CACHE_SIZE)

    async def streaming(self, chat: ChatKey) -> bool:
        return (await self._load(chat))[0]

    async def allowed(self, chat: ChatKey) -> bool:
        return (await self._load(chat))[1]

    async def learning(self, chat: ChatKey) -> bool | None:
        return (await self._load(chat))[2]

    async def set_learning(self, chat: ChatKey, on: bool) -> None:
        await self._change(lambda c: _set(c, chat, learning=on))

    async def set_streaming(self, chat: ChatKey, on: bool) -> None:
        await self._change(lambda c: _set(c, chat, streaming=on))

    async def set_allowed(self, chat: ChatKey, allowed: bool, actor: str) -> None:
        now = self._clock()

        def step(connection: Connection) -> None:
            _set(connection, chat, allowed=allowed)
            action = "allow chat" if allowed else "close chat"
            write_audit(connection, now, actor, action, f"{chat.platform}:{chat.chat_id}")

        await self._change(step)

    async def moved(self, old: ChatKey, new_chat_id: str) -> None:
        def step(connection: Connection) -> None:
            for table in (chats, conversations, outbox, schedules):
                here = (table.c.platform == old.platform) & (table.c.chat_id == old.chat_id)
                connection.execute(update(table).where(here).values(chat_id=new_chat_id))

        await self._change(step)

    async def known(self, platform: str, since: float) -> tuple[ChatKey, ...]:
        values = {"here": platform, "since": since}

        def look(connection: Connection) -> tuple[ChatKey, ...]:
            known = [ChatKey(platform, *row) for row in connection.execute(_KNOWN, values)]
            waiting = connection.execute(_WAITING, {"here": platform}).scalars()
            return tuple(dict.fromkeys([*known, *(INBOUND.load(payload).chat for payload in waiting)]))

        return await self._database.read(look)

    def clear(self) -> None:
        """Clear the cache. A read that has begun fills the old one."""
        self._cache = Bounded(_CACHE_SIZE)

    async def _change(self, step: Callable[[Connection], None]) -> None:
        try:
            await self._database.write(step)
        finally:
            self.clear()

    async def _load(self, chat: ChatKey) -> tuple[bool, bool, bool | None]:
        known = self._cache
        key = (chat.platform, chat.chat_id)
        if key not in known:
            here = (chats.c.platform == key[0]) & (chats.c.chat_id == key[1])
            query = select(chats.c.streaming, chats.c.allowed, chats.c.learning).where(here)
            row = await self._database.read(lambda c: c.execute(query).one_or_none())
            known[key] = (True, False, None) if row is None else (row.streaming, row.allowed, row.learning)
        return known[key]


def _set(connection: Connection, chat: ChatKey, **values: object) -> None:
    upsert(connection, chats, {"platform": chat.platform, "chat_id": chat.chat_id, **values})

"""Conversations and what was said in them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from routing.ports import Clock
from routing.stores import Conversation, StoredMessage
from routing.types import ChatKey
from storage.codec import PICTURES
from storage.database import Database
from storage.schema import conversations, messages

_HERE = (
    conversations.c.platform == bindparam("on_platform"),
    conversations.c.chat_id == bindparam("chat"),
    conversations.c.thread_id == bindparam("thread"),
)
_CURRENT = (
    select(conversations).where(*_HERE, conversations.c.ended_at.is_(None)).order_by(conversations.c.id.desc()).limit(1)
)
_END = update(conversations).where(*_HERE, conversations.c.ended_at.is_(None)).values(ended_at=bindparam("now"))
_MINE = messages.c.conversation_id == bindparam("conversation")
_COUNT = select(func.count()).where(_MINE, messages.c.id < bindparam("before"))
_NEWEST = (
    select(messages)
    .where(_MINE, messages.c.id < bindparam("before"))
    .order_by(messages.c.id.desc())
    .limit(bindparam("most"))
)
_LAST_QUESTION = select(messages).where(_MINE, messages.c.role == "user").order_by(messages.c.id.desc()).limit(1)
_END_OF_TIME = 2**62


class SqlHistory:
    """`routing.stores.HistoryStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._now_in: dict[ChatKey, Conversation] = {}

    async def current(self, chat: ChatKey) -> Conversation:
        if chat not in self._now_in:
            now = self._clock()
            self._now_in[chat] = await self._database.write(lambda c: _current(c, chat, now))
        return self._now_in[chat]

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None
    ) -> tuple[tuple[StoredMessage, ...], int]:
        where = {
            "conversation": conversation_id,
            "before": _END_OF_TIME if before is None else before,
            "most": limit,
        }

        def step(connection: Connection) -> tuple[tuple[StoredMessage, ...], int]:
            rows = connection.execute(_NEWEST, where).all()
            total = len(rows) if len(rows) < limit else connection.execute(_COUNT, where).scalar_one()
            return tuple(_message(row) for row in reversed(rows)), int(total)

        return await self._database.read(step)

    async def last_question(self, conversation_id: int) -> StoredMessage | None:
        where = {"conversation": conversation_id}
        row = await self._database.read(lambda c: c.execute(_LAST_QUESTION, where).one_or_none())
        return None if row is None else _message(row)

    async def begin(self, chat: ChatKey) -> Conversation:
        now = self._clock()

        def step(connection: Connection) -> Conversation:
            connection.execute(_END, _place(chat) | {"now": now})
            return _begin(connection, chat, now)

        return await self._switch(chat, await self._database.write(step))

    async def resume(self, conversation: Conversation) -> None:
        now = self._clock()

        def step(connection: Connection) -> None:
            connection.execute(_END, _place(conversation.chat) | {"now": now})
            again = update(conversations).where(conversations.c.id == conversation.id)
            connection.execute(again.values(ended_at=None))

        await self._database.write(step)
        await self._switch(conversation.chat, conversation)

    async def recent(self, chat: ChatKey, limit: int) -> tuple[Conversation, ...]:
        first = select(messages.c.conversation_id, func.count().label("n"), func.min(messages.c.id).label("id"))
        spoken = first.group_by(messages.c.conversation_id).subquery()
        question = (
            select(conversations, spoken.c.n, messages.c.text)
            .join(spoken, spoken.c.conversation_id == conversations.c.id)
            .join(messages, messages.c.id == spoken.c.id)
            .where(*_HERE)
            .order_by(conversations.c.id.desc())
            .limit(limit)
        )
        rows = await self._database.read(lambda c: c.execute(question, _place(chat)).all())
        return tuple(Conversation(row.id, chat, row.started_at, row.n, row.text) for row in rows)

    def forget(self) -> None:
        """Look every chat's conversation up anew."""
        self._now_in.clear()

    async def _switch(self, chat: ChatKey, conversation: Conversation) -> Conversation:
        self._now_in[chat] = conversation
        return conversation


def _place(chat: ChatKey) -> dict[str, object]:
    return {"on_platform": chat.platform, "chat": chat.chat_id, "thread": chat.thread_id}


def _current(connection: Connection, chat: ChatKey, now: float) -> Conversation:
    row = connection.execute(_CURRENT, _place(chat)).one_or_none()
    return _begin(connection, chat, now) if row is None else Conversation(row.id, chat, row.started_at)


def _begin(connection: Connection, chat: ChatKey, now: float) -> Conversation:
    row = {"platform": chat.platform, "chat_id": chat.chat_id, "thread_id": chat.thread_id}
    added = connection.execute(insert(conversations), row | {"started_at": now}).inserted_primary_key
    assert added is not None
    return Conversation(added[0], chat, now)


def _message(row: Row[Any]) -> StoredMessage:
    pictures = () if row.pictures == "[]" else PICTURES.load(row.pictures)
    return StoredMessage(row.id, row.role, row.text, row.at, pictures)

"""Conversations and their messages."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, exists, func, insert, select, update

from routing.bounded import Bounded
from routing.ports import RECENT_MESSAGES, Clock
from routing.types.decisions import TierSource
from routing.types.history import Conversation, StoredMessage, Summary
from routing.types.messages import ChatKey
from routing.types.tiers import Tier
from routing.types.turns import Switches
from storage.conversation_cache import ConversationCache, Unsummarised
from storage.database import Database
from storage.messages import IN_CONVERSATION, keep, message, newest, shorten, span, spoken, unsummarised
from storage.schema import conversations, messages, turns

_HERE = (
    conversations.c.platform == bindparam("on_platform"),
    conversations.c.chat_id == bindparam("chat"),
    conversations.c.thread_id == bindparam("thread"),
)
_CURRENT = (
    select(conversations).where(*_HERE, conversations.c.ended_at.is_(None)).order_by(conversations.c.id.desc()).limit(1)
)
_END = update(conversations).where(*_HERE, conversations.c.ended_at.is_(None)).values(ended_at=bindparam("now"))
_LAST_QUESTION = (
    select(messages).where(IN_CONVERSATION, messages.c.role == "user").order_by(messages.c.id.desc()).limit(1)
)
_SPOKEN = messages.c.conversation_id == conversations.c.id
_RECENT = (
    select(
        conversations,
        select(func.count()).where(_SPOKEN).correlate(conversations).scalar_subquery().label("n"),
        select(messages.c.text)
        .where(_SPOKEN)
        .correlate(conversations)
        .order_by(messages.c.id)
        .limit(1)
        .scalar_subquery()
        .label("text"),
    )
    .where(*_HERE, exists().where(_SPOKEN))
    .order_by(conversations.c.id.desc())
    .limit(bindparam("most"))
)

NEWEST = 2**63 - 1
_CACHE_SIZE = 10_000
"""Maximum number of chats, and of conversations, cached in memory."""
_TIERS = (
    select(turns.c.tier)
    .join(messages, and_(messages.c.person_id == turns.c.person_id, messages.c.turn_id == turns.c.turn_id))
    .where(IN_CONVERSATION, messages.c.role == "user", messages.c.id < bindparam("newest"), turns.c.source != "council")
    .order_by(messages.c.id.desc())
    .limit(bindparam("most"))
)


class SqlHistory:
    """Implements `routing.ports.HistoryStore`."""

    def __init__(self, database: Database, clock: Clock, cache: ConversationCache | None = None) -> None:
        """Without a cache, `unsummarised` reads each time. Other code that changes messages must share the cache."""
        self._database = database
        self._clock = clock
        self._cache = cache
        self._conversations = Bounded[ChatKey, Conversation](_CACHE_SIZE)
        self._switches = Bounded[int, Switches](_CACHE_SIZE)
        self._changes = 0

    async def current(self, chat: ChatKey) -> Conversation:
        known = self._conversations  # a change outside replaces the dictionary, so a stale result goes into the old one
        if chat not in known:
            now, changes = self._clock(), self._changes
            found, switches, new = await self._database.write(lambda c: _current(c, chat, now))
            if changes == self._changes:  # otherwise it may have ended meanwhile
                known[chat] = found
            self._keep(found.id, switches, changes)
            if self._cache is not None and new and changes == self._changes:
                self._cache.begin(found.id)
            elif self._cache is not None:
                self._cache.drop(found.id)  # it may be older than a change of the chat's process
            return found
        return known[chat]

    async def messages(
        self, conversation_id: int, limit: int, before: int | None = None, after: int = 0
    ) -> tuple[tuple[StoredMessage, ...], int]:
        where = span(conversation_id, limit, before, after)
        return await self._database.read(lambda c: spoken(c, where))

    async def last_question(self, conversation_id: int) -> StoredMessage | None:
        where = {"conversation": conversation_id}
        row = await self._database.read(lambda c: c.execute(_LAST_QUESTION, where).one_or_none())
        return None if row is None else message(row)

    async def of_turns(self, person_id: int, turn_ids: Collection[str]) -> tuple[StoredMessage, ...]:
        newest = select(messages.c.id).where(messages.c.person_id == person_id)
        newest = newest.order_by(messages.c.id.desc()).limit(RECENT_MESSAGES)
        wanted = (messages.c.id.in_(newest), messages.c.turn_id.in_(turn_ids), messages.c.role != "tool")
        query = select(messages).where(*wanted).order_by(messages.c.id)
        return await self._database.read(lambda c: tuple(message(row) for row in c.execute(query)))

    async def tier_of(self, turn_id: str, person_id: int) -> tuple[Tier, TierSource] | None:
        mine = (turns.c.turn_id == turn_id, turns.c.person_id == person_id)
        query = select(turns.c.tier, turns.c.source).where(*mine).limit(1)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return None if row is None else (row.tier, row.source)

    async def tiers(self, conversation_id: int, limit: int, before: int | None = None) -> tuple[Tier, ...]:
        where = {"conversation": conversation_id, "newest": before or NEWEST, "most": limit}
        rows = await self._database.read(lambda c: c.execute(_TIERS, where).scalars().all())
        return tuple(reversed(rows))

    async def begin(self, chat: ChatKey) -> Conversation:
        now = self._clock()

        def step(connection: Connection) -> Conversation:
            connection.execute(_END, _chat_parameters(chat) | {"now": now})
            return _begin(connection, chat, now)

        return await self._switch(chat, step)

    async def resume(self, conversation: Conversation) -> None:
        now = self._clock()

        def step(connection: Connection) -> Conversation:
            connection.execute(_END, _chat_parameters(conversation.chat) | {"now": now})
            again = update(conversations).where(conversations.c.id == conversation.id)
            connection.execute(again.values(ended_at=None))
            return conversation

        await self._switch(conversation.chat, step)

    async def recent(self, chat: ChatKey, limit: int) -> tuple[Conversation, ...]:
        where = _chat_parameters(chat) | {"most": limit}
        rows = await self._database.read(lambda c: c.execute(_RECENT, where).all())
        return tuple(Conversation(row.id, chat, row.started_at, row.n, row.text) for row in rows)

    async def unsummarised(self, conversation_id: int, limit: int, before: int | None = None) -> Unsummarised:
        async def read() -> Unsummarised:
            return await self._database.read(lambda c: unsummarised(c, conversation_id, limit, before))

        if self._cache is None or before is not None:
            return await read()
        return await self._cache.get(conversation_id, limit, read)

    async def summary(self, conversation_id: int) -> Summary | None:
        return await self._database.read(lambda c: newest(c, conversation_id))

    async def summarise(self, conversation_id: int, summary: Summary) -> None:
        now = self._clock()
        await self._edit(conversation_id, lambda c: keep(c, conversation_id, summary, now))

    async def shorten(self, conversation_id: int, most_chars: int) -> None:
        await self._edit(conversation_id, lambda c: shorten(c, conversation_id, most_chars))

    async def switches(self, conversation_id: int) -> Switches:
        if conversation_id not in self._switches:
            query = select(conversations).where(conversations.c.id == conversation_id)
            changes = self._changes
            row = await self._database.read(lambda c: c.execute(query).one())
            found = _switches(row)
            self._keep(conversation_id, found, changes)
            return found
        return self._switches[conversation_id]

    def _keep(self, conversation_id: int, switches: Switches, changes: int) -> None:
        if changes == self._changes:  # otherwise they may be stale
            self._switches[conversation_id] = switches

    async def set_conversation_tier(self, conversation_id: int, tier: Tier | None) -> None:
        await self._change(conversation_id, tier=tier, tier_at=self._clock())

    async def set_skill(self, conversation_id: int, skill: str) -> None:
        await self._change(conversation_id, skill=skill, skill_at=self._clock())

    def clear(self) -> None:
        """Clear the caches of conversations, their messages and settings."""
        self._changes += 1
        self._conversations = Bounded(_CACHE_SIZE)
        self._switches.clear()
        if self._cache is not None:
            self._cache.clear()

    def release(self, chats: Collection[str]) -> None:
        """Clear what is cached of the conversations in these chats, given as `ChatKey.claim`: another process may go on
        with them."""
        for chat in [chat for chat in self._conversations if chat.claim in chats]:
            conversation = self._conversations.pop(chat)
            if self._cache is not None:
                self._cache.drop(conversation.id)

    def forget(self, conversation_id: int) -> None:
        """Clear what is cached of a conversation."""
        self._changes += 1
        known = self._conversations.items()
        for chat in [chat for chat, each in known if each.id == conversation_id]:
            del self._conversations[chat]
        self._switches.pop(conversation_id, None)
        if self._cache is not None:
            self._cache.drop(conversation_id)

    async def _edit(self, conversation_id: int, step: Callable[[Connection], None]) -> None:
        """Run a step that changes messages or summaries, and clear their cache, even if the caller is cancelled."""
        try:
            await self._database.write(step)
        finally:
            if self._cache is not None:
                self._cache.drop(conversation_id)

    async def _change(self, conversation_id: int, **values: object) -> None:
        change = update(conversations).where(conversations.c.id == conversation_id).values(**values)
        try:
            await self._database.write(lambda c: c.execute(change))
        finally:
            self._changes += 1
            self._switches.pop(conversation_id, None)

    async def _switch(self, chat: ChatKey, step: Callable[[Connection], Conversation]) -> Conversation:
        """Run a step that changes a chat's conversation, and cache the new one, or none if the caller is cancelled."""
        try:
            conversation = await self._database.write(step)
        finally:
            self._changes += 1
            before = self._conversations.pop(chat, None)
        if before is not None and before.id != conversation.id:
            self._switches.pop(before.id, None)
            if self._cache is not None:
                self._cache.drop(before.id)
        self._conversations[chat] = conversation
        return conversation


def _chat_parameters(chat: ChatKey) -> dict[str, object]:
    return {"on_platform": chat.platform, "chat": chat.chat_id, "thread": chat.thread_id}


def _current(connection: Connection, chat: ChatKey, now: float) -> tuple[Conversation, Switches, bool]:
    """The chat's conversation, its tier and skill switches, and whether it is new."""
    row = connection.execute(_CURRENT, _chat_parameters(chat)).one_or_none()
    if row is None:
        return _begin(connection, chat, now), Switches(), True
    return Conversation(row.id, chat, row.started_at), _switches(row), False


def _switches(row: Row[Any]) -> Switches:
    return Switches(row.tier, row.tier_at, row.skill, row.skill_at)


def _begin(connection: Connection, chat: ChatKey, now: float) -> Conversation:
    row = {"platform": chat.platform, "chat_id": chat.chat_id, "thread_id": chat.thread_id}
    added = connection.execute(insert(conversations), row | {"started_at": now}).inserted_primary_key
    assert added is not None
    return Conversation(added[0], chat, now)

"""Finds the turn that a message answers, and removes ratings."""

from __future__ import annotations

from sqlalchemy import and_, select

from routing.types.messages import ChatKey
from routing.types.usage import Rating
from storage.database import Database
from storage.hours import rate
from storage.schema import outbox, pieces, turns

_ANSWERED = and_(turns.c.turn_id == outbox.c.turn_id, turns.c.model != "")
"""Turns that a model answered. Others only show notices of the bot, which are not rated."""


class SqlRatings:
    """Implements `routing.ports.RatingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def turn_of(self, chat: ChatKey, message_id: str) -> str | None:
        shown = select(outbox.c.turn_id).join(pieces, pieces.c.outbox_id == outbox.c.id).join(turns, _ANSWERED)
        here = (outbox.c.platform == chat.platform) & (outbox.c.chat_id == chat.chat_id)
        query = shown.where(pieces.c.message_id == message_id, here).limit(1)
        return await self._database.read(lambda c: c.execute(query).scalar_one_or_none())

    async def newest(self, chat: ChatKey, person_id: int) -> str | None:
        here = (outbox.c.platform == chat.platform) & (outbox.c.chat_id == chat.chat_id)
        had = select(turns.c.turn_id).join(outbox, _ANSWERED).where(turns.c.person_id == person_id, here)
        query = had.where(outbox.c.thread_id == chat.thread_id).order_by(turns.c.id.desc()).limit(1)
        return await self._database.read(lambda c: c.execute(query).scalar_one_or_none())

    async def take_back(self, turn_id: str, person_id: int, rating: Rating) -> bool:
        mine = (turns.c.turn_id == turn_id, turns.c.person_id == person_id, turns.c.rating == rating)
        return await self._database.write(lambda c: rate(c, mine, None))

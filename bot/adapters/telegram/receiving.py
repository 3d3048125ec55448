"""From raw updates to accepted messages; the same for polling and webhook."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from telegram import Update

from bot.adapters.telegram import reactions
from bot.adapters.telegram.api import Json
from bot.adapters.telegram.inbound import Me, moved, read
from bot.platform import Accept, Progress
from routing.ports import ChatStore, Clock
from routing.types.messages import ChatKey, InboundMessage

log = logging.getLogger(__name__)


class Receiver:
    """Once `take` has returned, everything in the updates is durable; if it raises, none may be acknowledged."""

    def __init__(
        self, me: Me, accept: Accept, chats: ChatStore, progress: Progress, clock: Clock, steady: Clock
    ) -> None:
        self._me = me
        self._accept = accept
        self._chats = chats
        self._progress = progress
        self._clock = clock
        self._steady = steady

    async def take(self, updates: Sequence[Json]) -> None:
        now = self._clock()
        messages: list[InboundMessage] = []
        for raw in updates:
            message, migration = self._understood(raw, now)
            if migration is not None:
                await self._hand_over(messages)
                messages = []
                await self._chats.moved(*migration)
            if message is not None:
                messages.append(message)
        await self._hand_over(messages)
        self._progress.last_update = self._steady()

    async def _hand_over(self, messages: list[InboundMessage]) -> None:
        if messages:
            await self._accept(messages)

    def _understood(self, raw: Json, now: float) -> tuple[InboundMessage | None, tuple[ChatKey, str] | None]:
        """An update that the library cannot read is passed over: kept, it would stand before all others for ever."""
        try:
            update = Update.de_json(raw, None)
            if update.message_reaction is not None:
                return reactions.read(update.message_reaction, update.update_id, self._me), None
            return read(update, self._me, now), moved(update)
        except Exception as error:  # the library may raise anything for updates it does not know
            number = raw.get("update_id") if isinstance(raw, dict) else None
            log.error("Telegram: can't parse update %s, skipping it: %s", number, type(error).__name__)
            log.debug("the unreadable update has %s", _outline(raw))
            return None, None


def _outline(raw: object) -> object:
    """The names of the fields, without what people wrote."""
    return {name: _outline(value) for name, value in raw.items()} if isinstance(raw, dict) else type(raw).__name__

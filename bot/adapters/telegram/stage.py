"""What replies and previews share: the API, the flood queue, and what half-streamed messages show."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from telegram.error import TelegramError

from bot.adapters.shared.background import Background
from bot.adapters.telegram.api import Api, Json, TooMany
from bot.adapters.telegram.flood import Flood
from bot.adapters.telegram.options import Pace
from bot.rendering.telegram import Piece

log = logging.getLogger(__name__)
_MESSAGES = ("sendMessage", "editMessageText", "sendPhoto", "sendDocument")  # what Telegram counts
_SHOWN = 256  # half-streamed messages remembered; only those that never got their final text stay


@dataclass(slots=True)
class Stage:
    """`shown`: the present content of previews by (chat id, message id), lest they are edited to the same."""

    api: Api
    flood: Flood
    pace: Pace
    drafts: bool = True
    shown: dict[tuple[str, str], Piece] = field(default_factory=dict)
    background: Background = field(default_factory=lambda: Background("Telegram"))

    async def call(self, chat_id: str, method: str, data: Json) -> Any:
        """A call that concerns one chat; after a 429 the next one there waits. Raises TelegramError."""
        try:
            result = await self.api.call(method, data)
        except TooMany as error:
            self.flood.refuse(chat_id, error.seconds)
            raise
        if method in _MESSAGES:
            self.flood.passed()
        return result

    def keep_shown(self, chat_id: str, message_id: str, piece: Piece) -> None:
        self.shown[chat_id, message_id] = piece
        if len(self.shown) > _SHOWN:
            del self.shown[next(iter(self.shown))]

    async def courtesy(self, chat_id: str, method: str, data: Json) -> None:
        """A call that nobody misses if it fails."""
        try:
            await self.call(chat_id, method, data)
        except TelegramError as error:
            log.debug("%s: %s", method, error)


def address(chat_id: str, thread_id: str) -> Json:
    """Chat and topic as parameters; the General topic must not be named when sending."""
    return {"chat_id": chat_id, "message_thread_id": thread_id} if thread_id not in ("", "1") else {"chat_id": chat_id}


def body(piece: Piece) -> Json:
    """Text and entities as parameters."""
    if not piece.entities:
        return {"text": piece.text}
    entities = []
    for entity in piece.entities:
        item: Json = {"type": entity.type, "offset": entity.offset, "length": entity.length}
        if entity.url is not None:
            item["url"] = entity.url
        if entity.language is not None:
            item["language"] = entity.language
        entities.append(item)
    return {"text": piece.text, "entities": entities}

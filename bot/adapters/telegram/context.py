"""State shared by replies and previews: the API, the rate limiter, and what previews show."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from telegram.error import TelegramError

from bot.adapters.shared.background import Background
from bot.adapters.telegram.api import Api, Json, TooMany
from bot.adapters.telegram.flood import RateLimiter
from bot.adapters.telegram.settings import Pace
from bot.rendering.telegram import Piece
from routing.bounded import Bounded

log = logging.getLogger(__name__)
_MESSAGES = ("sendMessage", "editMessageText", "sendPhoto", "sendDocument")  # what Telegram counts as messages
_MAX_PREVIEWS = 256  # remembered previews; only those that never got their final text remain


@dataclass(slots=True)
class ClientContext:
    """`shown` is the content of previews by chat id and message id, because Telegram refuses edits that change nothing.
    `drafts` is whether Telegram accepts drafts, and `may_show` whether previews may be shown now."""

    api: Api
    flood: RateLimiter
    pace: Pace
    may_show: Callable[[], bool] = lambda: True
    drafts: bool = True
    shown: Bounded[tuple[str, str], Piece] = field(default_factory=lambda: Bounded(_MAX_PREVIEWS))
    background: Background = field(default_factory=lambda: Background("Telegram"))

    async def call(self, chat_id: str, method: str, data: Json) -> Any:
        """Make a call for one chat; after a 429, later calls there wait. Raises TelegramError."""
        try:
            result = await self.api.call(method, data)
        except TooMany as error:
            self.flood.refuse(chat_id, error.seconds)
            raise
        if method in _MESSAGES:
            self.flood.passed()
        return result

    async def best_effort(self, chat_id: str, method: str, data: Json) -> None:
        """Make a call that may fail."""
        try:
            await self.call(chat_id, method, data)
        except TelegramError as error:
            log.debug("%s: %s", method, error)


def address(chat_id: str, thread_id: str) -> Json:
    """Chat and topic as parameters; Telegram refuses the id of the General topic."""
    return {"chat_id": chat_id, "message_thread_id": thread_id} if thread_id not in ("", "1") else {"chat_id": chat_id}


def body(piece: Piece) -> Json:
    """Text and entities as parameters."""
    return {"text": piece.text, "entities": list(piece.entities)} if piece.entities else {"text": piece.text}

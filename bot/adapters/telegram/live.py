"""What a person sees before the answer: typing, then a growing draft or an edited message."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.adapters.shared.streaming import NEVER, StreamedReply
from bot.adapters.telegram.api import Json
from bot.adapters.telegram.failure import Refusal, may_have_arrived, refusal
from bot.adapters.telegram.parts import MAX_TEXT
from bot.adapters.telegram.stage import Stage, address, body
from bot.platform import KeepPlaceholder
from bot.rendering.telegram import Piece, preview
from routing.types.messages import InboundMessage

log = logging.getLogger(__name__)
MAX_NOTICE = 200  # characters that answerCallbackQuery shows
_NO_PREVIEW = {"is_disabled": True}
_FINAL = (Refusal.OTHER, Refusal.THREAD)
_GOES_ON = " …"
"""Ends a new message of a preview: if Telegram's answer is lost it stays, and must not pass for the whole answer."""


class TelegramLive(StreamedReply):
    """One turn's live reply."""

    def __init__(
        self, stage: Stage, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        super().__init__(stage.pace, stage.background.spawn, streaming)
        self._stage = stage
        self._message = message
        self._placeholder = placeholder
        self._keep = keep
        self._last: Piece | None = None
        self._refresh_at = NEVER
        self._acknowledged = message.press is None

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        press = self._message.press
        if press is None:
            return
        if spent:
            markup = {"chat_id": self._message.chat.chat_id, "message_id": press.message_id}
            self._spawn(self._stage.courtesy(self._message.chat.chat_id, "editMessageReplyMarkup", markup))
        if self._acknowledged:
            return
        self._acknowledged = True
        data: Json = {"callback_query_id": press.query}
        if text:
            data["text"] = _cut(text)
        self._spawn(self._stage.courtesy(self._message.chat.chat_id, "answerCallbackQuery", data))

    async def close(self) -> str:
        await self._finish()
        if not self._acknowledged:
            await self.acknowledge()
        return self._placeholder

    async def _type(self) -> None:
        if self._stage.flood.spare(self._message.chat.chat_id, counts=False):
            await self._call("sendChatAction", self._where() | {"action": "typing"})

    def _due(self) -> float:
        """A draft that nothing is added to is shown again before it fades."""
        return self._preview_at if self._fresh else self._refresh_at

    async def _preview(self, now: float) -> None:
        pace = self._stage.pace
        renewing = not self._fresh
        self._fresh = False
        gap = pace.private_gap if self._message.private else pace.group_gap
        self._preview_at = now + gap
        if renewing:
            self._refresh_at = now + gap
        piece = self._last if renewing else preview(self._text)
        if piece is None or not piece.text or (piece == self._last and not renewing):
            return
        drafting = self._message.private and self._stage.drafts and not self._placeholder
        if not self._stage.flood.spare(self._message.chat.chat_id, counts=not drafting):
            self._fresh = not renewing
            return
        try:
            if not drafting and not renewing:
                await self._write(piece)
            elif drafting and not await self._draft(piece):
                return
            self._last = piece
        finally:
            self._shown(gap)

    async def _draft(self, piece: Piece) -> bool:
        """Whether it was taken; after a refusal the text is to be shown in another way."""
        number = int(self._message.message_id or 0) % 2**31 or 1
        try:
            await self._call("sendMessageDraft", self._where() | body(piece) | {"draft_id": number})
        except (BadRequest, InvalidToken) as error:
            if isinstance(error, BadRequest) and refusal(error) is not Refusal.OTHER:
                raise
            log.info("Telegram refuses drafts (%s); answers are streamed by edits", error)
            self._stage.drafts = False
            self._refresh_at, self._fresh = NEVER, True
            return False
        self._refresh_at = asyncio.get_running_loop().time() + self._stage.pace.draft_refresh
        return True

    async def _write(self, piece: Piece) -> None:
        chat_id = self._message.chat.chat_id
        if self._placeholder:
            data = {"chat_id": chat_id, "message_id": self._placeholder, "link_preview_options": _NO_PREVIEW}
            await self._call("editMessageText", data | body(piece))
            self._stage.keep_shown(chat_id, self._placeholder, piece)
            return
        piece = preview(self._text, MAX_TEXT - len(_GOES_ON))
        piece = Piece(piece.text + _GOES_ON, piece.entities)
        data = self._where() | body(piece) | {"link_preview_options": _NO_PREVIEW}
        if not self._message.private and self._message.press is None:
            reply = {"message_id": int(self._message.message_id), "allow_sending_without_reply": True}
            data["reply_parameters"] = reply
        try:
            sent = await self._call("sendMessage", data)
        except TelegramError as error:
            self._streaming = self._streaming and not may_have_arrived(error)  # one lost preview is enough
            raise
        self._placeholder = str(sent["message_id"])
        self._stage.keep_shown(chat_id, self._placeholder, piece)
        await self._keep(self._placeholder)

    def _call_failed(self, error: Exception) -> bool:
        """A refused call is not repeated; after anything else the next one may do."""
        if not isinstance(error, TelegramError):
            return False
        log.debug("live reply: %s", error)
        if isinstance(error, BadRequest) and refusal(error) is Refusal.NOT_EDITABLE:
            self._placeholder, self._streaming = "", False
        elif isinstance(error, Forbidden) or (isinstance(error, BadRequest) and refusal(error) in _FINAL):
            self._streaming, self._typing_at = False, NEVER
        if not self._streaming:
            self._fresh, self._refresh_at = False, NEVER
        return True

    async def _call(self, method: str, data: Json) -> Any:
        return await self._stage.call(self._message.chat.chat_id, method, data)

    def _where(self) -> Json:
        return address(self._message.chat.chat_id, self._message.chat.thread_id)


def _cut(text: str) -> str:
    """At most 200 UTF-16 units."""
    units = text.encode("utf-16-le")
    return text if len(units) <= 2 * MAX_NOTICE else units[: 2 * MAX_NOTICE - 2].decode("utf-16-le", "ignore") + "…"

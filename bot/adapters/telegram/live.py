"""What a person sees before the answer: typing, then a growing draft or an edited message."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from bot.adapters.shared.streaming import CONTINUATION_MARK, NEVER, StreamedReply
from bot.adapters.telegram.api import Json
from bot.adapters.telegram.context import ClientContext, address, body
from bot.adapters.telegram.failures import Refusal, may_have_arrived, refusal
from bot.adapters.telegram.parts import MAX_FILE_BYTES, MAX_TEXT_UNITS, NO_PREVIEW
from bot.platform import KeepPlaceholder
from bot.rendering.telegram import Piece, preview
from routing.types.messages import InboundMessage

log = logging.getLogger(__name__)
MAX_NOTICE_UNITS = 200  # UTF-16 code units that answerCallbackQuery shows
_FINAL = (Refusal.OTHER, Refusal.THREAD)


class TelegramLive(StreamedReply):
    """One turn's live reply."""

    _call_errors = (TelegramError,)
    max_file_bytes = MAX_FILE_BYTES

    def __init__(
        self, context: ClientContext, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        super().__init__(context.pace, context.background.spawn, streaming, context.may_show)
        self._context = context
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
            self._spawn(self._context.best_effort(self._message.chat.chat_id, "editMessageReplyMarkup", markup))
        if self._acknowledged:
            return
        self._acknowledged = True
        data: Json = {"callback_query_id": press.query}
        if text:
            data["text"] = _cut(text)
        self._spawn(self._context.best_effort(self._message.chat.chat_id, "answerCallbackQuery", data))

    async def erase(self) -> bool:
        message = {"chat_id": self._message.chat.chat_id, "message_id": self._message.message_id}
        try:
            await self._call("deleteMessage", message)
        except TelegramError as error:
            log.info("A message can't be deleted (%s)", error)
            return False
        return True

    async def close(self) -> str:
        await self._finish()
        if not self._acknowledged:
            await self.acknowledge()
        return self._placeholder

    async def _type(self) -> None:
        if self._context.flood.spare(self._message.chat.chat_id, counts=False):
            await self._call("sendChatAction", self._where() | {"action": "typing"})

    def _due(self) -> float:
        """A draft that does not grow is sent again before Telegram hides it."""
        return self._preview_at if self._fresh else self._refresh_at

    async def _preview(self, now: float) -> None:
        pace = self._context.pace
        renewing = not self._fresh
        self._fresh = False
        gap = pace.private_gap if self._message.private else pace.group_gap
        self._preview_at = now + gap
        if renewing:
            self._refresh_at = now + gap
        piece = self._last if renewing else preview(self._text)
        if piece is None or not piece.text or (piece == self._last and not renewing):
            return
        drafting = self._message.private and self._context.drafts and not self._placeholder
        if not self._context.flood.spare(self._message.chat.chat_id, counts=not drafting):
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
        """Whether Telegram accepted the draft; if not, answers are shown by edits from now on."""
        number = int(self._message.message_id or 0) % 2**31 or 1
        try:
            await self._call("sendMessageDraft", self._where() | body(piece) | {"draft_id": number})
        except (BadRequest, InvalidToken) as error:
            if isinstance(error, BadRequest) and refusal(error) is not Refusal.OTHER:
                raise
            log.info("Telegram refuses drafts (%s); answers are streamed by edits", error)
            self._context.drafts = False
            self._refresh_at, self._fresh = NEVER, True
            return False
        self._refresh_at = asyncio.get_running_loop().time() + self._context.pace.draft_refresh
        return True

    async def _write(self, piece: Piece) -> None:
        chat_id = self._message.chat.chat_id
        if self._placeholder:
            data = {"chat_id": chat_id, "message_id": self._placeholder, "link_preview_options": NO_PREVIEW}
            await self._call("editMessageText", data | body(piece))
            self._context.shown[chat_id, self._placeholder] = piece
            return
        piece = preview(self._text, MAX_TEXT_UNITS - len(CONTINUATION_MARK))
        piece = Piece(piece.text + CONTINUATION_MARK, piece.entities)
        data = self._where() | body(piece) | {"link_preview_options": NO_PREVIEW}
        if not self._message.private and self._message.press is None and self._message.message_id:
            reply = {"message_id": int(self._message.message_id), "allow_sending_without_reply": True}
            data["reply_parameters"] = reply
        try:
            sent = await self._call("sendMessage", data)
        except TelegramError as error:
            self._streaming = self._streaming and not may_have_arrived(error)  # at most one preview may be duplicated
            raise
        self._placeholder = str(sent["message_id"])
        self._context.shown[chat_id, self._placeholder] = piece
        await self._keep(self._placeholder)

    def _call_failed(self, error: Exception) -> None:
        """Stop previews if the call was refused; after other errors the next one may succeed."""
        log.debug("live reply: %s", error)
        if isinstance(error, BadRequest) and refusal(error) is Refusal.NOT_EDITABLE:
            self._placeholder, self._streaming = "", False
        elif isinstance(error, Forbidden) or (isinstance(error, BadRequest) and refusal(error) in _FINAL):
            self._streaming, self._typing_at = False, NEVER
        if not self._streaming:
            self._fresh, self._refresh_at = False, NEVER

    async def _call(self, method: str, data: Json) -> Any:
        return await self._context.call(self._message.chat.chat_id, method, data)

    def _where(self) -> Json:
        return address(self._message.chat.chat_id, self._message.chat.thread_id)


def _cut(text: str) -> str:
    """At most 200 UTF-16 units."""
    units = text.encode("utf-16-le")
    return (
        text
        if len(units) <= 2 * MAX_NOTICE_UNITS
        else units[: 2 * MAX_NOTICE_UNITS - 2].decode("utf-16-le", "ignore") + "…"
    )

"""Final replies: Markdown in pieces, sent or written over a preview, repaired once where Telegram allows it.

A document is the last piece. A short text is its caption; a longer one, or one that is written over a preview, goes
before it, for a message of text never becomes a document.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from telegram.error import BadRequest, ChatMigrated, TelegramError

from bot.adapters.telegram.api import Json, upload
from bot.adapters.telegram.failure import Refusal, failure, refusal
from bot.adapters.telegram.inbound import PLATFORM
from bot.adapters.telegram.stage import Stage, address, body
from bot.platform import SendRefused, Sent
from bot.rendering.plain import utf16_length
from bot.rendering.telegram import Entity, Piece, pieces
from routing.stores import ChatStore
from routing.types import ChatKey, Document, OutboundMessage

MAX_TEXT = 4096  # UTF-16 units
MAX_CAPTION = 1024  # UTF-16 units
RECOVERED = "(recovered)"
_NO_PREVIEW = {"is_disabled": True}
_ENTITIES = ("entities", "caption_entities")


@dataclass(slots=True)
class _Target:
    """Where a reply goes; both parts may turn out to be gone on the way. `plain` after a refused entity."""

    chat_id: str
    thread_id: str
    plain: bool = False


class Outbound:
    """Sends replies. All errors of the network and of Telegram leave as SendLater or SendRefused."""

    def __init__(self, stage: Stage, chats: ChatStore) -> None:
        self._stage = stage
        self._chats = chats
        self._failures = 0

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """See Platform.send. Yields nothing when every piece had been sent."""
        parts = _parts(message)
        if not parts:
            raise SendRefused("the reply holds nothing visible")
        target = _Target(message.chat.person or message.chat.chat_id, message.chat.thread_id)
        for index in range(first_piece, len(parts)):
            last = index == len(parts) - 1
            markup = _keyboard(message, outbox_id) if last and message.buttons else None
            sent = ""
            document = message.document if last else None
            if index == 0 and message.edits and document is None:
                sent = await self._edit(target, message.edits, parts[0], markup)
            if not sent:
                quoted = index == 0 and target.chat_id.startswith("-")  # in private it is plain what is answered
                reply_to = message.reply_to if quoted else ""
                piece = parts[index]
                if recovered and index == first_piece:
                    piece = await self._marked(target, piece, MAX_CAPTION if document else MAX_TEXT)
                data = await _body(piece, document) | _extras(markup, reply_to)
                sent = await self._new(target, data)
            yield Sent(sent, last)

    async def _edit(self, target: _Target, message_id: str, piece: Piece, markup: Json | None) -> str:
        """The message's id, or empty when it cannot be edited and a new one is due. A repetition does no harm."""
        if self._stage.shown.pop((target.chat_id, message_id), None) == piece and markup is None:
            return message_id
        data = {"chat_id": target.chat_id, "message_id": message_id, "link_preview_options": _NO_PREVIEW}
        data |= {"reply_markup": markup} if markup else {}
        try:
            await self._call("editMessageText", data | body(piece), target)
        except BadRequest as error:
            match refusal(error):
                case Refusal.UNCHANGED:
                    return message_id
                case Refusal.NOT_EDITABLE:
                    return ""
            raise failure(error, self._failures) from error
        return message_id

    async def _new(self, target: _Target, data: Json) -> str:
        """A message of its own. Where a document is refused, the person learns that and why."""
        method = "sendDocument" if "document" in data else "sendMessage"
        try:
            result: Json = await self._call(method, address(target.chat_id, target.thread_id) | data, target)
        except BadRequest as error:
            if method == "sendDocument":
                words = f"{data.get('caption', '')}\n⚠️ {data['document'].filename}: {error.message}".strip()
                await self._new(target, {"text": words})
            raise failure(error, self._failures) from error
        return str(result["message_id"])

    async def _marked(self, target: _Target, piece: Piece, limit: int) -> Piece:
        """The piece with its mark; where that would make it too long, the mark goes ahead as a message."""
        shift = len(RECOVERED) + 1
        if utf16_length(piece.text) + shift > limit:
            await self._new(target, {"text": RECOVERED})
            return piece
        moved = (Entity(e.type, e.offset + shift, e.length, e.url, e.language) for e in piece.entities)
        return Piece(f"{RECOVERED} {piece.text}", tuple(moved))

    async def _call(self, method: str, data: Json, target: _Target) -> Json:
        """One call with its repairs: a chat that moved, a topic that is gone, entities that are refused.

        Raises BadRequest for other refusals, SendLater and SendRefused for everything else.
        """
        editing = method == "editMessageText"
        if target.plain:
            data = _plain(data)
        while True:
            await self._stage.flood.turn(target.chat_id)
            try:
                result: Json = await self._stage.api.call(method, data)
            except ChatMigrated as error:
                await self._follow(target, error.new_chat_id)
                data["chat_id"] = target.chat_id
            except BadRequest as error:
                data = self._repair(error, data, target)
            except TelegramError as error:
                self._stage.note(target.chat_id, error)
                failed = failure(error, self._failures, editing)
                self._failures += 1
                raise failed from error
            else:
                self._failures = 0
                return result

    async def _follow(self, target: _Target, new_chat_id: int) -> None:
        if target.chat_id == str(new_chat_id):
            raise SendRefused("the chat moved to itself")
        await self._chats.moved(ChatKey(PLATFORM, target.chat_id), str(new_chat_id))
        target.chat_id = str(new_chat_id)

    def _repair(self, error: BadRequest, data: Json, target: _Target) -> Json:
        """The call without what was refused, each thing once; else raise the error again."""
        what = refusal(error)
        if what is Refusal.ENTITIES and any(name in data for name in _ENTITIES):
            target.plain = True
            return _plain(data)
        if what is Refusal.THREAD and "message_thread_id" in data:
            target.thread_id = ""
            return {name: value for name, value in data.items() if name != "message_thread_id"}
        raise error


def _parts(message: OutboundMessage) -> tuple[Piece, ...]:
    """One message each. With a document the last is its caption, empty when the text goes before it."""
    parts = pieces(message.text)
    if message.document is None:
        return parts
    short = len(parts) == 1 and utf16_length(parts[0].text) <= MAX_CAPTION
    return parts if short and not message.edits else (*parts, Piece("", ()))


async def _body(piece: Piece, document: Document | None) -> Json:
    """Text or document as parameters."""
    if document is None:
        return body(piece) | {"link_preview_options": _NO_PREVIEW}
    file = await asyncio.to_thread(upload, document.name, document.text)
    caption = {"text": "caption", "entities": "caption_entities"}
    return {"document": file} | {caption[name]: value for name, value in body(piece).items() if value}


def _extras(markup: Json | None, reply_to: str) -> Json:
    extras: Json = {"reply_markup": markup} if markup else {}
    if reply_to:
        extras["reply_parameters"] = {"message_id": int(reply_to), "allow_sending_without_reply": True}
    return extras


def _plain(data: Json) -> Json:
    return {name: value for name, value in data.items() if name not in _ENTITIES}


def _keyboard(message: OutboundMessage, outbox_id: int) -> Json:
    """Inline buttons whose data says only which reply and which place: the command stays with us."""
    return {
        "inline_keyboard": [
            [
                {"text": button.label, "callback_data": f"t:{outbox_id}:{row}.{column}"}
                for column, button in enumerate(buttons)
            ]
            for row, buttons in enumerate(message.buttons)
        ]
    }

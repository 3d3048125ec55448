"""Final replies: Markdown in pieces, sent or written over a preview, repaired once where Telegram allows it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from telegram.error import BadRequest, ChatMigrated, TelegramError

from bot.adapters.telegram.api import Json
from bot.adapters.telegram.failure import Refusal, failure, refusal
from bot.adapters.telegram.inbound import PLATFORM
from bot.adapters.telegram.stage import Stage, address, body
from bot.platform import SendRefused, Sent
from bot.rendering.plain import utf16_length
from bot.rendering.telegram import Entity, Piece, pieces
from routing.stores import ChatStore
from routing.types import ChatKey, OutboundMessage

MAX_TEXT = 4096  # UTF-16 units
RECOVERED = "(recovered)"
_NO_PREVIEW = {"is_disabled": True}


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
        parts = pieces(message.text)
        if not parts:
            raise SendRefused("the reply holds nothing visible")
        target = _Target(message.chat.chat_id, message.chat.thread_id)
        for index in range(first_piece, len(parts)):
            last = index == len(parts) - 1
            markup = _keyboard(message, outbox_id) if last and message.buttons else None
            sent = ""
            if index == 0 and message.edits:
                sent = await self._edit(target, message.edits, parts[0], markup)
            if not sent:
                quoted = index == 0 and target.chat_id.startswith("-")  # in private it is plain what is answered
                reply_to = message.reply_to if quoted else ""
                sent = await self._new(target, parts[index], markup, reply_to, recovered and index == first_piece)
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

    async def _new(self, target: _Target, piece: Piece, markup: Json | None, reply_to: str, again: bool) -> str:
        if again:
            piece = await self._marked(target, piece)
        data = address(target.chat_id, target.thread_id) | body(piece) | {"link_preview_options": _NO_PREVIEW}
        if markup:
            data["reply_markup"] = markup
        if reply_to:
            data["reply_parameters"] = {"message_id": int(reply_to), "allow_sending_without_reply": True}
        try:
            result: Json = await self._call("sendMessage", data, target)
        except BadRequest as error:
            raise failure(error, self._failures) from error
        return str(result["message_id"])

    async def _marked(self, target: _Target, piece: Piece) -> Piece:
        """The piece with its mark; where that would make it too long, the mark goes ahead as a message."""
        shift = len(RECOVERED) + 1
        if utf16_length(piece.text) + shift > MAX_TEXT:
            await self._new(target, Piece(RECOVERED, ()), None, "", False)
            return piece
        moved = (Entity(e.type, e.offset + shift, e.length, e.url, e.language) for e in piece.entities)
        return Piece(f"{RECOVERED} {piece.text}", tuple(moved))

    async def _call(self, method: str, data: Json, target: _Target) -> Json:
        """One call with its repairs: a chat that moved, a topic that is gone, entities that are refused.

        Raises BadRequest for other refusals, SendLater and SendRefused for everything else.
        """
        editing = method == "editMessageText"
        if target.plain:
            data.pop("entities", None)
        while True:
            await self._stage.flood.turn(target.chat_id)
            try:
                result: Json = await self._stage.api.call(method, data)
            except ChatMigrated as error:
                await self._follow(target, error.new_chat_id)
                data["chat_id"] = target.chat_id
            except BadRequest as error:
                self._repair(error, data, target)
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

    def _repair(self, error: BadRequest, data: Json, target: _Target) -> None:
        """Take away what was refused, each thing once; else raise the error again."""
        what = refusal(error)
        if what is Refusal.ENTITIES and "entities" in data:
            del data["entities"]
            target.plain = True
        elif what is Refusal.THREAD and "message_thread_id" in data:
            del data["message_thread_id"]
            target.thread_id = ""
        else:
            raise error


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

"""Final replies: sent in parts or written over a preview, corrected and repeated if Telegram refuses a detail."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial

from telegram.error import BadRequest, ChatMigrated, TelegramError

from bot.adapters.shared.outbound import FileRefused, PieceSender
from bot.adapters.telegram.api import Json
from bot.adapters.telegram.context import ClientContext, address, body
from bot.adapters.telegram.failures import Refusal, failure, refusal
from bot.adapters.telegram.messages import PLATFORM
from bot.adapters.telegram.parts import NO_PREVIEW, RECOVERED, Part, parts
from bot.platform import SendRefused, Sent
from bot.rendering.telegram import Piece, pieces
from handlers.replies.callback_buttons import token
from routing.ports import ChatStore
from routing.types.messages import ChatKey, OutboundMessage, OutgoingFile, Picture

log = logging.getLogger(__name__)
_ENTITIES = ("entities", "caption_entities")


@dataclass(slots=True)
class _Target:
    """Where a reply goes; changes if the chat has moved or the topic is gone. `plain`: entities were refused. `again`:
    the next message may be a copy."""

    chat_id: str
    thread_id: str
    again: bool
    plain: bool = False


class Outbound:
    """Sends replies. Network and Telegram errors are raised as SendLater or SendRefused."""

    def __init__(self, context: ClientContext, chats: ChatStore) -> None:
        self._context = context
        self._chats = chats
        self._pieces: PieceSender[Part] = PieceSender()

    async def send(
        self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool
    ) -> AsyncIterator[Sent]:
        """See Platform.send. Yields nothing if all pieces were sent before."""
        made = parts(message)
        if not made:
            raise SendRefused("the reply has no visible content")
        target = _Target(message.chat.person or message.chat.chat_id, message.chat.thread_id, recovered)
        for index in range(first_piece, len(made)):
            part, last = made[index], index == len(made) - 1
            markup = _keyboard(message, outbox_id) if last and message.buttons else None
            sent = ""
            if index == 0 and message.edits and part.file is None:
                sent = await self._edit(target, message.edits, part.piece, markup)
                target.again = target.again and not sent
            if not sent:
                quoted = index == 0 and target.chat_id.startswith("-")  # a private chat needs no quote
                part = replace(part, extras=_extras(markup, message.reply_to if quoted else ""))
                sent = await self._pieces.send((outbox_id, index), part, partial(self._deliver, target), _instead)
            yield Sent(sent, last)

    async def _deliver(self, target: _Target, part: Part) -> str:
        """Send one message and return its id."""
        sent = await self._new(target, await self._marked(target, part) if target.again else part)
        target.again = False
        return sent

    async def _edit(self, target: _Target, message_id: str, piece: Piece, markup: Json | None) -> str:
        """Edit a message and return its id; empty if it can't be edited and a new one is needed. Repeating an edit is
        harmless."""
        shown = self._context.shown.get((target.chat_id, message_id))
        self._context.shown.pop((target.chat_id, message_id), None)
        if shown == piece and markup is None:
            return message_id
        data = {"chat_id": target.chat_id, "message_id": message_id, "link_preview_options": NO_PREVIEW}
        data |= {"reply_markup": markup} if markup else {}
        try:
            await self._call("editMessageText", data | body(piece), target)
        except BadRequest as error:
            match refusal(error):
                case Refusal.UNCHANGED:
                    return message_id
                case Refusal.NOT_EDITABLE:
                    return ""
            raise failure(error) from error
        return message_id

    async def _new(self, target: _Target, part: Part) -> str:
        """Send a new message. A refused picture or voice message of a tool is sent as a plain file. For other refused
        files, the text gets a note; without a document the reply counts as not delivered. Raises FileRefused for
        code."""
        method, data = await part.call()
        try:
            result: Json = await self._call(
                method, address(target.chat_id, target.thread_id) | data | part.extras, target
            )
        except BadRequest as error:
            if part.file is not None:
                log.warning("Telegram refused a file: %s", error.message)
                if part.instead:
                    raise FileRefused(error.message) from error
                if isinstance(part.file, OutgoingFile) and part.file.kind != "file":
                    return await self._new(target, replace(part, file=replace(part.file, kind="file")))
                message_id = await self._new(target, part.noted(error.message))
                if isinstance(part.file, Picture | OutgoingFile):
                    return message_id
            raise failure(error) from error
        return str(result["message_id"])

    async def _marked(self, target: _Target, part: Part) -> Part:
        """The part with a mark that it may be a copy. If that makes it too long, the mark is sent as a message before
        it, and the target needs no other."""
        if (marked := part.marked()) is not None:
            return marked
        await self._new(target, Part(Piece(RECOVERED, ())))
        target.again = False
        return part

    async def _call(self, method: str, data: Json, target: _Target) -> Json:
        """Make a call, and repeat it with corrections if the chat has moved, the topic is gone or entities are refused.

        Raises BadRequest for other refusals, and SendLater or SendRefused for other errors.
        """
        if target.plain:
            data = _plain(data)
        while True:
            await self._context.flood.turn(target.chat_id)
            try:
                result: Json = await self._context.call(target.chat_id, method, data)
            except ChatMigrated as error:
                await self._follow(target, error.new_chat_id)
                data["chat_id"] = target.chat_id
            except BadRequest as error:
                data = self._repair(error, data, target)
            except TelegramError as error:
                raise failure(error, editing=method == "editMessageText") from error
            else:
                return result

    async def _follow(self, target: _Target, new_chat_id: int) -> None:
        if target.chat_id == str(new_chat_id):
            raise SendRefused("the chat moved to itself")
        await self._chats.moved(ChatKey(PLATFORM, target.chat_id), str(new_chat_id))
        target.chat_id = str(new_chat_id)

    def _repair(self, error: BadRequest, data: Json, target: _Target) -> Json:
        """The call without what was refused. Raises the error if nothing can be left out."""
        what = refusal(error)
        if what is Refusal.ENTITIES and any(name in data for name in _ENTITIES):
            target.plain = True
            return _plain(data)
        if what is Refusal.THREAD and "message_thread_id" in data:
            target.thread_id = ""
            return {name: value for name, value in data.items() if name != "message_thread_id"}
        raise error


def _instead(part: Part, reason: str) -> list[Part]:
    """The code of a refused file as text."""
    return [part.noted(reason), *map(Part, pieces(part.instead))]


def _extras(markup: Json | None, reply_to: str) -> Json:
    extras: Json = {"reply_markup": markup} if markup else {}
    if reply_to:
        extras["reply_parameters"] = {"message_id": int(reply_to), "allow_sending_without_reply": True}
    return extras


def _plain(data: Json) -> Json:
    return {name: value for name, value in data.items() if name not in _ENTITIES}


def _keyboard(message: OutboundMessage, outbox_id: int) -> Json:
    """Inline buttons. Their data names the reply and the button; the command stays in our database."""
    return {
        "inline_keyboard": [
            [
                {"text": button.label, "callback_data": token(outbox_id, row, column)}
                for column, button in enumerate(buttons)
            ]
            for row, buttons in enumerate(message.buttons)
        ]
    }

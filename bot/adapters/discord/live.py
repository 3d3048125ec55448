"""What a person sees before the answer: typing, then a message or a deferred answer that grows by edits."""

from __future__ import annotations

import asyncio
import logging
from hashlib import blake2s

import discord

from bot.adapters.discord.client import Json
from bot.adapters.discord.context import EPHEMERAL, ClientContext, InteractionRef, body
from bot.adapters.discord.failures import CALL_ERRORS, Refusal, may_have_arrived, refused_as, retry_after
from bot.adapters.discord.parts import MAX_FILE_BYTES
from bot.adapters.shared.streaming import CLOSE_SECONDS, CONTINUATION_MARK, NEVER, StreamedReply
from bot.platform import KeepPlaceholder
from bot.rendering.discord import MAX_TEXT_CHARACTERS, preview
from routing.errors import StorageFault
from routing.text import shortened
from routing.types.messages import InboundMessage

ROOM = MAX_TEXT_CHARACTERS - len(CONTINUATION_MARK)

log = logging.getLogger(__name__)


class Draft:
    """The message that becomes the answer: a deferred answer, one started by an earlier process, or a new one.

    `message_id` is empty until the message exists; `ref` is the interaction to answer.
    """

    def __init__(self, context: ClientContext, message: InboundMessage, message_id: str, keep: KeepPlaceholder) -> None:
        self.message_id = message_id
        self.ref = InteractionRef.unpack(message.message_id if message.press is None else message.press.query)
        self.pressed = message.press is not None
        self.channel = message.chat.topic or message.chat.chat_id
        self._context = context
        self._message = message
        self._keep = keep
        self._may_exist = False

    @property
    def deferred(self) -> InteractionRef | None:
        """The interaction whose deferred answer grows, while Discord accepts it."""
        if self.ref is None or self.pressed or not self._context.accepts(self.ref):
            return None
        return self.ref

    @property
    def hidden(self) -> bool:
        """Whether only one person may see the answer while a draft would be visible to everyone."""
        return self.ref is not None and self.ref.ephemeral and self.deferred is None

    async def write(self, text: str) -> None:
        """Show this text. Raises `failures.CALL_ERRORS`."""
        if (ref := self.deferred) is not None:
            shown = await self._context.edit_original(ref, body(text))
            self._context.keep_shown(str(ref.interaction_id), text, shown)
            if not (ref.ephemeral or self.message_id):  # after the token has expired, the answer is edited as a message
                await self._remember(shown)
        elif self.message_id:
            shown = await self._context.edit(self.channel, self.message_id, body(text))
            self._context.keep_shown(self.message_id, text, shown)
        else:
            await self._begin(text)

    async def find(self, markdown: str) -> None:
        """Find a message that was started, by this or an earlier process, but whose id is unknown, so that it does not
        remain beside the final text."""
        new = bool(markdown) and not (self.message_id or self.hidden or self.deferred)
        if not self._may_exist and not (new and self._context.inherits(self._message.sent_at)):
            return
        self._may_exist = False
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._begin(preview(markdown, ROOM))
        except (*CALL_ERRORS, StorageFault):  # a failed search must not delay the final text
            log.debug("a preview may not have been deleted", exc_info=True)

    @property
    def _quotes(self) -> bool:
        """Whether to quote the question. Direct messages, and a thread started from the question, need no quote."""
        message = self._message
        clear = message.private or self.pressed or message.message_id == message.chat.thread_id
        return not clear and message.message_id.isdigit()

    async def _begin(self, text: str) -> None:
        """Create the message. If the response is lost, its nonce finds the message again."""
        nonce = blake2s(self._message.update_id.encode()).hexdigest()[:24]
        text += CONTINUATION_MARK
        content: Json = body(text) | {"nonce": nonce, "enforce_nonce": True}
        if self._quotes:
            content["message_reference"] = {"message_id": self._message.message_id, "fail_if_not_exists": False}
        before, self._may_exist = self._may_exist, True
        try:
            shown = await self._context.send(self.channel, content)
        except CALL_ERRORS as error:
            self._may_exist = before or may_have_arrived(error)
            raise
        self._may_exist = False
        self._context.keep_shown(str(shown["id"]), text, shown)
        await self._remember(shown)

    async def _remember(self, shown: Json) -> None:
        """Store the message's id, so that a restarted process continues in it."""
        self.message_id = str(shown["id"])
        await self._keep(self.message_id)


class DiscordLive(StreamedReply):
    """One turn's live reply."""

    _call_errors = CALL_ERRORS
    max_file_bytes = MAX_FILE_BYTES

    def __init__(
        self, context: ClientContext, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        super().__init__(context.pace, context.background.spawn, streaming, context.may_show)
        self._context = context
        self._form = message.form
        self._draft = Draft(context, message, placeholder, keep)
        self._last = ""
        self._acknowledged = not self._draft.pressed

    async def working(self) -> None:
        """Show typing, except for a deferred answer, which already shows that the bot is working."""
        if self._draft.deferred is None:
            await super().working()

    def show(self, text: str) -> None:
        if not self._draft.hidden:
            super().show(text)

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """Answer a button press, which was deferred on arrival; only the person who pressed sees the text."""
        ref = self._draft.ref
        if not self._draft.pressed or ref is None or not self._context.accepts(ref):
            return
        if spent:
            self._spawn(self._context.best_effort(self._context.edit_original(ref, {"components": []})))
        if self._acknowledged:
            return
        self._acknowledged = True
        if text:
            notice = self._context.follow_up(ref, body(shortened(text, MAX_TEXT_CHARACTERS), flags=EPHEMERAL))
            self._spawn(self._context.best_effort(notice))

    async def erase(self) -> bool:
        """Discord lets no one delete another's direct messages; what was entered in a form is in no message."""
        return self._form

    async def close(self) -> str:
        await self._finish()
        draft = self._draft
        await draft.find(self._text)
        if draft.pressed and draft.ref is not None and draft.ref.ephemeral:
            return draft.ref.beside().pack()
        return draft.message_id

    async def _type(self) -> None:
        await self._context.type(self._draft.channel)

    async def _preview(self, now: float) -> None:
        self._fresh = False
        self._preview_at = now + self._context.pace.edit_gap
        text = preview(self._text, ROOM)
        if not text or text == self._last or self._draft.hidden:
            return
        try:
            await self._draft.write(text)
            self._last = text
        finally:
            self._shown(self._context.pace.edit_gap)

    def _call_failed(self, error: Exception) -> None:
        """Stop previews if the call was refused; after other errors the next one may succeed."""
        log.debug("live reply: %s", type(error).__name__)
        now = asyncio.get_running_loop().time()
        if isinstance(error, discord.RateLimited):
            self._preview_at = now + error.retry_after
        if not isinstance(error, discord.HTTPException) or error.status >= 500:
            return
        if error.status == 429:
            self._preview_at = now + retry_after(error)
            return
        if refused_as(error, Refusal.NOT_EDITABLE):
            self._draft.message_id = ""
        elif not refused_as(error, Refusal.INTERACTION):
            self._typing_at = NEVER
        self._streaming = self._fresh = False

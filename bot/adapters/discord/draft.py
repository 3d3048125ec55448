"""The message that an answer grows in: a deferred answer, one that an earlier process began, or a new one."""

from __future__ import annotations

import asyncio
import logging
from hashlib import blake2s

from bot.adapters.discord.failure import TROUBLES, may_have_arrived
from bot.adapters.discord.origin import Origin
from bot.adapters.discord.stage import Json, Stage, body
from bot.adapters.pacing import FAREWELL
from bot.platform import KeepPlaceholder
from bot.rendering.discord import MAX_TEXT, preview
from routing.types import InboundMessage

GOES_ON = " …"
"""Ends a message that begins: where it can't be found again it stays, and must not pass for the whole answer."""
ROOM = MAX_TEXT - len(GOES_ON)

log = logging.getLogger(__name__)


class Draft:
    """`message_id` of the draft that will become the final text; empty while there is none. `origin`: the interaction
    that is answered."""

    def __init__(self, stage: Stage, message: InboundMessage, message_id: str, keep: KeepPlaceholder) -> None:
        self.message_id = message_id
        self.origin = Origin.unpack(message.message_id if message.press is None else message.press.query)
        self.pressed = message.press is not None
        self._stage = stage
        self._message = message
        self._channel = message.chat.topic or message.chat.chat_id
        self._keep = keep
        self._doubtful = False

    @property
    def deferred(self) -> Origin | None:
        """Whose deferred answer grows, for as long as Discord takes it."""
        if self.origin is None or self.pressed or not self._stage.opens(self.origin):
            return None
        return self.origin

    @property
    def hidden(self) -> bool:
        """Whether the answer is for one person, and a draft would be for all."""
        return self.origin is not None and self.origin.ephemeral and self.deferred is None

    async def write(self, text: str) -> None:
        """Show this much. Raises what is in `failure.TROUBLES`."""
        content = body(text)
        if (origin := self.deferred) is not None:
            shown = await self._stage.original(origin, content)
            self._stage.keep_shown(str(origin.interaction_id), text, shown)
            if not (origin.ephemeral or self.message_id):  # once the token is too old, it is edited as a message
                await self._remember(shown)
        elif self.message_id:
            shown = await self._stage.edit(self._channel, self.message_id, content)
            self._stage.keep_shown(self.message_id, text, shown)
        else:
            await self._begin(text)

    async def find(self, markdown: str) -> None:
        """A message that may have been begun, here or by a process that died before it could note which, is found,
        lest it stays beside the final text."""
        new = bool(markdown) and not (self.message_id or self.hidden or self.deferred)
        if not self._doubtful and not (new and self._stage.inherits(self._message.sent_at)):
            return
        self._doubtful = False
        try:
            async with asyncio.timeout(FAREWELL):
                await self._begin(preview(markdown, ROOM))
        except Exception:  # looking for the draft must never hold back the final text
            log.debug("a preview may not have been deleted", exc_info=True)

    @property
    def _quotes(self) -> bool:
        """In private, and in a thread that began with the message, it is plain what is answered."""
        message = self._message
        told = message.private or self.pressed or message.message_id == message.chat.thread_id
        return not told and message.message_id.isdigit()

    async def _begin(self, text: str) -> None:
        """The nonce finds the message again when the answer to this call is lost."""
        nonce = blake2s(self._message.update_id.encode()).hexdigest()[:24]
        text += GOES_ON
        content = body(text) | {"nonce": nonce, "enforce_nonce": True}
        if self._quotes:
            reference: Json = {"message_id": self._message.message_id, "fail_if_not_exists": False}
            content["message_reference"] = reference
        before, self._doubtful = self._doubtful, True
        try:
            shown = await self._stage.send(self._channel, content)
        except TROUBLES as error:
            self._doubtful = before or may_have_arrived(error)
            raise
        self._doubtful = False
        self._stage.keep_shown(str(shown["id"]), text, shown)
        await self._remember(shown)

    async def _remember(self, shown: Json) -> None:
        """Go on in this message, after a restart, too."""
        self.message_id = str(shown["id"])
        await self._keep(self.message_id)

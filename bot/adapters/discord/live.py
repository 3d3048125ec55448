"""What a person sees before the answer: typing, then a message or a deferred answer that grows by edits."""

from __future__ import annotations

import asyncio
import logging

import discord

from bot.adapters.discord.draft import ROOM, Draft
from bot.adapters.discord.failure import TROUBLES, Refusal, refusal, retry_after
from bot.adapters.discord.stage import EPHEMERAL, Stage, body
from bot.adapters.pacing import NEVER, PacedLive
from bot.platform import KeepPlaceholder
from bot.rendering.discord import MAX_TEXT, preview
from routing.types import InboundMessage

log = logging.getLogger(__name__)


class DiscordLive(PacedLive):
    """One turn's live reply."""

    def __init__(
        self, stage: Stage, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        super().__init__(stage.pace, stage.background.spawn, streaming)
        self._stage = stage
        self._channel = message.chat.topic or message.chat.chat_id
        self._draft = Draft(stage, message, placeholder, keep)
        self._last = ""
        self._acknowledged = not self._draft.pressed

    async def working(self) -> None:
        """A deferred answer says by itself that it is being made."""
        if self._draft.deferred is None:
            await super().working()

    def show(self, text: str) -> None:
        if not self._draft.hidden:
            super().show(text)

    async def acknowledge(self, text: str = "", spent: bool = False) -> None:
        """The press itself was deferred on receipt; words are for who pressed."""
        origin = self._draft.origin
        if not self._draft.pressed or origin is None or not self._stage.opens(origin):
            return
        if spent:
            self._spawn(self._stage.courtesy(self._stage.original(origin, {"components": []})))
        if self._acknowledged:
            return
        self._acknowledged = True
        if text:
            short = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
            notice = self._stage.follow_up(origin, body(short, flags=EPHEMERAL))
            self._spawn(self._stage.courtesy(notice))

    async def close(self) -> str:
        await self._end()
        draft = self._draft
        await draft.find(self._text)
        if draft.pressed and draft.origin is not None and draft.origin.ephemeral:
            return draft.origin.beside().pack()
        return draft.message_id

    async def _type(self) -> None:
        await self._stage.type(self._channel)

    async def _preview(self, now: float) -> None:
        self._fresh = False
        self._preview_at = now + self._stage.pace.edit_gap
        text = preview(self._text, ROOM)
        if not text or text == self._last or self._draft.hidden:
            return
        try:
            await self._draft.write(text)
            self._last = text
        finally:
            self._shown(self._stage.pace.edit_gap)

    def _disappointed(self, error: Exception) -> bool:
        """A refused call is not repeated; after anything else the next one may do."""
        if not isinstance(error, TROUBLES):
            return False
        log.debug("live reply: %s", type(error).__name__)
        if isinstance(error, discord.RateLimited):
            self._preview_at = asyncio.get_running_loop().time() + error.retry_after
        if not isinstance(error, discord.HTTPException) or error.status >= 500:
            return True
        if error.status == 429:
            self._preview_at = asyncio.get_running_loop().time() + retry_after(error)
            return True
        if refusal(error) is Refusal.NOT_EDITABLE:
            self._draft.message_id = ""
        elif refusal(error) is not Refusal.ORIGIN:
            self._typing_at = NEVER
        self._streaming = self._fresh = False
        return True

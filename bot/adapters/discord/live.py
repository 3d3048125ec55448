"""What a person sees before the answer: typing, then a message or a deferred answer that grows by edits."""

from __future__ import annotations

import asyncio
import logging
import math

import discord

from bot.adapters.discord.draft import FAREWELL, Draft
from bot.adapters.discord.failure import TROUBLES, Refusal, refusal, retry_after
from bot.adapters.discord.stage import EPHEMERAL, Stage, body
from bot.platform import KeepPlaceholder
from bot.rendering.discord import MAX_TEXT, preview
from routing.types import InboundMessage

log = logging.getLogger(__name__)
_NEVER = math.inf


class DiscordLive:
    """One turn's live reply. Timers start short tasks, so that a quick answer costs neither request nor task."""

    def __init__(
        self, stage: Stage, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        self._stage = stage
        self._channel = message.chat.thread_id or message.chat.chat_id
        self._draft = Draft(stage, message, placeholder, keep)
        self._streaming = streaming
        self._text = ""
        self._fresh = False
        self._last = ""
        self._typing_at = _NEVER
        self._preview_at = -_NEVER
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._previewing = False
        self._acknowledged = not self._draft.pressed
        self._closed = False

    async def working(self) -> None:
        """Typing from 0.4 s on, every 8 s; a deferred answer says by itself that it is being made."""
        if self._typing_at == _NEVER and not self._closed and self._draft.deferred is None:
            self._typing_at = asyncio.get_running_loop().time() + self._stage.pace.typing_after
            self._schedule()

    def show(self, text: str) -> None:
        if self._closed or not self._streaming or self._draft.hidden:
            return
        self._text = text
        if not self._fresh:
            self._fresh = True
            if self._preview_at == -_NEVER:
                self._preview_at = asyncio.get_running_loop().time() + self._stage.pace.preview_after
            self._schedule()

    async def acknowledge(self, text: str = "") -> None:
        """The press itself was deferred on receipt; words are for who pressed."""
        origin = self._draft.origin
        if self._acknowledged or origin is None or not self._stage.opens(origin):
            return
        self._acknowledged = True
        if text:
            short = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
            notice = self._stage.follow_up(origin, body(short, flags=EPHEMERAL))
            self._stage.spawn(self._stage.courtesy(notice))

    async def close(self) -> str:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._previewing:
            await asyncio.wait({self._task}, timeout=FAREWELL)
            if self._task is not None:
                self._task.cancel()
        draft = self._draft
        await draft.find(self._text)
        if draft.pressed and draft.origin is not None and draft.origin.ephemeral:
            return draft.origin.beside().pack()
        return draft.message_id

    def _schedule(self) -> None:
        """Set the timer to whatever is due first; a running step does so at its end."""
        if self._closed or self._task is not None:
            return
        due = min(self._typing_at, self._preview_at if self._fresh else _NEVER)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
            self._timer = None
        if due < _NEVER:
            self._timer = asyncio.get_running_loop().call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._task = self._stage.spawn(self._step())

    async def _step(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            if self._fresh and self._preview_at <= now:
                self._previewing = True
                await self._preview(now)
            elif self._typing_at <= now:
                self._typing_at = now + self._stage.pace.typing_every
                await self._stage.type(self._channel)
        except TROUBLES as error:
            self._disappointed(error)
        except Exception:
            # Whatever it is, rendering included: the final text will say it, a preview is never worth a failed turn.
            log.debug("preview failed", exc_info=True)
            self._streaming = False
        finally:
            self._previewing = False
            self._task = None
            self._schedule()

    async def _preview(self, now: float) -> None:
        self._fresh = False
        self._preview_at = now + self._stage.pace.edit_gap
        text = preview(self._text)
        if not text or text == self._last or self._draft.hidden:
            return
        try:
            await self._draft.write(text)
            self._last = text
        finally:
            # Counted from the answer: the next request cannot reach the server sooner than that after this one.
            after = asyncio.get_running_loop().time()
            self._preview_at = max(self._preview_at, after + self._stage.pace.edit_gap)
            self._typing_at = max(self._typing_at, after + self._stage.pace.typing_every)

    def _disappointed(self, error: BaseException) -> None:
        """A refused call is not repeated; after anything else the next one may do."""
        log.debug("live reply: %s", type(error).__name__)
        self._draft.doubt(error)
        if isinstance(error, discord.RateLimited):
            self._preview_at = asyncio.get_running_loop().time() + error.retry_after
        if not isinstance(error, discord.HTTPException) or error.status >= 500:
            return
        if error.status == 429:
            self._preview_at = asyncio.get_running_loop().time() + retry_after(error)
            return
        if refusal(error) is Refusal.NOT_EDITABLE:
            self._draft.message_id = ""
        elif refusal(error) is not Refusal.ORIGIN:
            self._typing_at = _NEVER
        self._streaming = self._fresh = False

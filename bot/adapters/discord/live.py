"""What a person sees before the answer: typing, then a message or a deferred answer that grows by edits."""

from __future__ import annotations

import asyncio
import logging
import math
from hashlib import blake2s

import discord

from bot.adapters.discord.failure import TROUBLES, Refusal, may_have_arrived, refusal, retry_after
from bot.adapters.discord.origin import Origin
from bot.adapters.discord.stage import EPHEMERAL, Json, Stage, body
from bot.platform import KeepPlaceholder
from bot.rendering.discord import MAX_TEXT, preview
from routing.types import InboundMessage

log = logging.getLogger(__name__)
_FAREWELL = 5.0  # seconds that close() waits for a preview on its way: it must not arrive after the final text
_NEVER = math.inf


class DiscordLive:
    """One turn's live reply. Timers start short tasks, so that a quick answer costs neither request nor task."""

    def __init__(
        self, stage: Stage, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder
    ) -> None:
        self._stage = stage
        self._message = message
        self._channel = message.chat.thread_id or message.chat.chat_id
        origin = Origin.unpack(message.message_id if message.press is None else message.press.query)
        self._origin = origin if origin is not None and origin.alive(stage.clock()) else None
        # Beside a message that one person sees, a preview would be for all.
        self._streaming = streaming and not (self._pressed and self._origin is not None and self._origin.ephemeral)
        self._placeholder = placeholder
        self._keep = keep
        self._text = ""
        self._fresh = False
        self._last = ""
        self._doubtful = False
        self._typing_at = _NEVER
        self._preview_at = -_NEVER
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._previewing = False
        self._acknowledged = not self._pressed
        self._closed = False

    async def working(self) -> None:
        """Typing from 0.4 s on, every 8 s; a deferred answer says by itself that it is being made."""
        if self._typing_at == _NEVER and not self._closed and (self._origin is None or self._pressed):
            self._typing_at = asyncio.get_running_loop().time() + self._stage.pace.typing_after
            self._schedule()

    def show(self, text: str) -> None:
        if self._closed or not self._streaming:
            return
        self._text = text
        if not self._fresh:
            self._fresh = True
            if self._preview_at == -_NEVER:
                self._preview_at = asyncio.get_running_loop().time() + self._stage.pace.preview_after
            self._schedule()

    async def acknowledge(self, text: str = "") -> None:
        """The press itself was deferred on receipt; words are for who pressed."""
        if self._acknowledged or self._origin is None:
            return
        self._acknowledged = True
        if text:
            short = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
            notice = self._stage.follow_up(self._origin, body(short, flags=EPHEMERAL))
            self._stage.spawn(self._stage.courtesy(notice))

    async def close(self) -> str:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._previewing:
            await asyncio.wait({self._task}, timeout=_FAREWELL)
            if self._task is not None:
                self._task.cancel()
        if self._doubtful:
            await self._find()
        if self._pressed and self._origin is not None and self._origin.ephemeral:
            return self._origin.beside().pack()
        return self._placeholder

    @property
    def _pressed(self) -> bool:
        return self._message.press is not None

    @property
    def _quotes(self) -> bool:
        """In private, and in a thread that began with the message, it is plain what is answered."""
        message = self._message
        told = message.private or self._pressed or message.message_id == message.chat.thread_id
        return not told and message.message_id.isdigit()

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
        if not text or text == self._last:
            return
        try:
            await self._write(text)
            self._last = text
        finally:
            # Counted from the answer: the next request cannot reach the server sooner than that after this one.
            after = asyncio.get_running_loop().time()
            self._preview_at = max(self._preview_at, after + self._stage.pace.edit_gap)
            self._typing_at = max(self._typing_at, after + self._stage.pace.typing_every)

    async def _write(self, text: str) -> None:
        content = body(text)
        if self._origin is not None and not self._pressed:
            shown = await self._stage.original(self._origin, content)
            self._stage.keep_shown(str(self._origin.interaction_id), text, shown)
        elif self._placeholder:
            shown = await self._stage.edit(self._channel, self._placeholder, content)
            self._stage.keep_shown(self._placeholder, text, shown)
        else:
            await self._begin(text)

    async def _begin(self, text: str) -> None:
        """The message that grows. Its nonce finds it again when the answer to this call is lost."""
        nonce = blake2s(self._message.update_id.encode()).hexdigest()[:24]
        content = body(text) | {"nonce": nonce, "enforce_nonce": True}
        if self._quotes:
            reference: Json = {"message_id": self._message.message_id, "fail_if_not_exists": False}
            content["message_reference"] = reference
        self._doubtful = True
        shown = await self._stage.send(self._channel, content)
        self._doubtful = False
        self._placeholder = str(shown["id"])
        self._stage.keep_shown(self._placeholder, text, shown)
        await self._keep(self._placeholder)

    async def _find(self) -> None:
        """A message that may have been begun is found, lest it stays beside the final text."""
        self._doubtful = False
        try:
            async with asyncio.timeout(_FAREWELL):
                await self._begin(preview(self._text))
        except Exception:  # as in `_step`: what is only looked for must not keep the final text back
            log.debug("a preview may have stayed behind", exc_info=True)

    def _disappointed(self, error: BaseException) -> None:
        """A refused call is not repeated; after anything else the next one may do."""
        log.debug("live reply: %s", type(error).__name__)
        self._doubtful = self._doubtful and may_have_arrived(error)
        if isinstance(error, discord.RateLimited):
            self._preview_at = asyncio.get_running_loop().time() + error.retry_after
        if not isinstance(error, discord.HTTPException) or error.status >= 500:
            return
        if error.status == 429:
            self._preview_at = asyncio.get_running_loop().time() + retry_after(error)
            return
        if refusal(error) is Refusal.NOT_EDITABLE:
            self._placeholder = ""
        elif refusal(error) is not Refusal.ORIGIN:
            self._typing_at = _NEVER
        self._streaming = self._fresh = False

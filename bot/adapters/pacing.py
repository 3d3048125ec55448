"""When a live reply shows what: typing soon and again, the growing answer in an even pace, nothing after its end."""

from __future__ import annotations

import asyncio
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Protocol

log = logging.getLogger(__name__)

NEVER = math.inf
FAREWELL = 5.0
"""Seconds that close() waits for a preview on its way: nothing may arrive after the final text."""

Spawn = Callable[[Coroutine[None, None, None]], asyncio.Task[None]]


class LivePace(Protocol):
    """Seconds from the turn's beginning to the first typing and the first preview, and between two typings."""

    @property
    def typing_after(self) -> float: ...
    @property
    def typing_every(self) -> float: ...
    @property
    def preview_after(self) -> float: ...


class PacedLive(ABC):
    """The clockwork of a turn's `routing.ports.LiveReply`. Timers start short tasks, so that a quick answer costs
    neither request nor task. `_fresh`: there is a text that was not shown yet."""

    def __init__(self, pace: LivePace, spawn: Spawn, streaming: bool) -> None:
        self._pace = pace
        self._spawn = spawn
        self._streaming = streaming
        self._text = ""
        self._fresh = False
        self._typing_at = NEVER
        self._preview_at = -NEVER
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._previewing = False

    async def working(self) -> None:
        """Typing from 0.4 s on, again and again."""
        if self._typing_at == NEVER and not self._closed:
            self._typing_at = asyncio.get_running_loop().time() + self._pace.typing_after
            self._schedule()

    def show(self, text: str) -> None:
        """The answer so far."""
        if self._closed or not self._streaming:
            return
        self._text = text
        if not self._fresh:
            self._fresh = True
            if self._preview_at == -NEVER:
                self._preview_at = asyncio.get_running_loop().time() + self._pace.preview_after
            self._schedule()

    @abstractmethod
    async def _type(self) -> None:
        """Show that somebody types."""

    @abstractmethod
    async def _preview(self, now: float) -> None:
        """Show the text; it also says when the next one is due."""

    @abstractmethod
    def _disappointed(self, error: Exception) -> bool:
        """Whether it was a call that failed, which then is dealt with."""

    def _due(self) -> float:
        """When a preview is due, in the event loop's seconds."""
        return self._preview_at if self._fresh else NEVER

    def _shown(self, gap: float) -> None:
        """Counted from the answer to a preview: the next request can't reach the server sooner after it than that."""
        after = asyncio.get_running_loop().time()
        self._preview_at = max(self._preview_at, after + gap)
        self._typing_at = max(self._typing_at, after + self._pace.typing_every)

    async def _end(self) -> None:
        """Nothing is shown from now on; what is on its way arrives before that, or never."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._previewing:
            await asyncio.wait({self._task}, timeout=FAREWELL)
            if self._task is not None:
                self._task.cancel()

    def _schedule(self) -> None:
        """Set the timer to whatever is due first; a running step does so at its end."""
        if self._closed or self._task is not None:
            return
        due = min(self._typing_at, self._due())
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
            self._timer = None
        if due < NEVER:
            self._timer = asyncio.get_running_loop().call_at(due, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._task = self._spawn(self._step())

    async def _step(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            if self._due() <= now:
                self._previewing = True
                await self._preview(now)
            elif self._typing_at <= now:
                self._typing_at = now + self._pace.typing_every
                await self._type()
        except Exception as error:
            if not self._disappointed(error):
                # Rendering, perhaps: the final text will say it, a preview is never worth a failed turn.
                log.debug("preview failed", exc_info=True)
                self._streaming = False
        finally:
            self._previewing = False
            self._task = None
            self._schedule()

"""Typing notices and previews of a growing answer, spaced out so that the platform's rate limits hold."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import ClassVar

from bot.adapters.shared.descriptor import CommonPace
from routing.errors import StorageFault

NEVER = math.inf
CLOSE_SECONDS = 5.0
"""Seconds that `_finish` waits for a preview on its way, so that none arrives after the final text."""
CONTINUATION_MARK = " …"
"""Ends a new preview message: if the platform's reply is lost, it stays and must not look like the whole answer."""

Spawn = Callable[[Coroutine[None, None, None]], asyncio.Task[None]]


class StreamedReply(ABC):
    """Base of a platform's `routing.ports.LiveReply`.

    Timers start short tasks, so a quick answer costs neither a request nor a task. `_fresh` is set while there is text
    that has not been shown.
    """

    _call_errors: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self, pace: CommonPace, spawn: Spawn, streaming: bool, may_show: Callable[[], bool] = lambda: True
    ) -> None:
        """Once it is time for a preview and `may_show` is false, there are no more."""
        self._may_show = may_show
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
        """Show typing notices from `typing_after` on."""
        if self._typing_at == NEVER and not self._closed:
            self._typing_at = asyncio.get_running_loop().time() + self._pace.typing_after
            self._schedule()

    def show(self, text: str) -> None:
        """Preview the answer so far."""
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
        """Send a typing notice."""

    @abstractmethod
    async def _preview(self, now: float) -> None:
        """Show the text and set when the next preview is due."""

    @abstractmethod
    def _call_failed(self, error: Exception) -> None:
        """React to one of the `_call_errors`."""

    def _due(self) -> float:
        """When a preview is due, in the event loop's seconds."""
        return self._preview_at if self._fresh else NEVER

    def _shown(self, gap: float) -> None:
        """Leave a gap before the next request, counted from the response to this one."""
        after = asyncio.get_running_loop().time()
        self._preview_at = max(self._preview_at, after + gap)
        self._typing_at = max(self._typing_at, after + self._pace.typing_every)

    async def _finish(self) -> None:
        """Show nothing more. A preview on its way arrives before this returns, or never."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._previewing:
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            if self._task is not None:
                self._task.cancel()

    def _schedule(self) -> None:
        """Set the timer for what is due first; a running step calls this when it ends."""
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
        works = False
        try:
            works = await self._show_due(asyncio.get_running_loop().time())
        finally:  # after an unexpected error, which its owner logs, there are no more previews
            self._streaming = self._streaming and works
            self._previewing = False
            self._task = None
            self._schedule()

    async def _show_due(self, now: float) -> bool:
        """Show a preview or a typing notice. Returns False if this turn can have no more previews."""
        if not self._may_show():
            self._closed = True
            return False
        try:
            if self._due() <= now:
                self._previewing = True
                await self._preview(now)
            elif self._typing_at <= now:
                self._typing_at = now + self._pace.typing_every
                await self._type()
        except self._call_errors as error:
            self._call_failed(error)
        except StorageFault:  # the message's id can't be kept, so a restarted process could not continue in it
            return False
        return True

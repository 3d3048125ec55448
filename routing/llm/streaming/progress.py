"""Shows how long a model has been thinking."""

from __future__ import annotations

import asyncio
from types import TracebackType

from routing.ports import LiveReply

FIRST_SECONDS = 10.0
EVERY_SECONDS = 5.0


class ProgressIndicator:
    """Shows `💭 0:35` until the model's first words replace it."""

    def __init__(self, live: LiveReply) -> None:
        self._live = live
        self._spoken = False
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def working(self) -> None:
        await self._live.working()

    def show(self, text: str) -> None:
        self._spoken = True
        self._live.show(text)

    def __enter__(self) -> ProgressIndicator:
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._timer = loop.call_later(FIRST_SECONDS, self._say)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _say(self) -> None:
        loop = asyncio.get_running_loop()
        if self._spoken:
            return
        minutes, seconds = divmod(round(loop.time() - self._began), 60)
        self._live.show(f"💭 {minutes}:{seconds:02}")
        self._timer = loop.call_later(EVERY_SECONDS, self._say)

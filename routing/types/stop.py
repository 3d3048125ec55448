"""Lets /stop end a running turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Stop:
    """Ends a turn. Only waiting for models and tools is cancelled, never storing the result."""

    def __init__(self) -> None:
        self.requested = False
        self._listening: asyncio.Task[object] | None = None

    def request(self) -> None:
        """End the turn now, or when it next waits for a model or a tool."""
        if not self.requested and self._listening is not None:
            self._listening.cancel()
        self.requested = True

    async def guard(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`; False if `request` ended it."""
        if self.requested:
            work.close()
            return False
        self._listening = asyncio.current_task()
        try:
            await work
        except asyncio.CancelledError:
            if not self.requested or self._listening is None:
                raise
            self._listening.uncancel()
            return False
        finally:
            self._listening = None
        return True

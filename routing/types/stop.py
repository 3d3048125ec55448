"""How /stop reaches a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


class Stop:
    """Ends a turn: only what waits for a model or a tool is cancelled, never what keeps the result."""

    def __init__(self) -> None:
        self.requested = False
        self._listening: asyncio.Task[object] | None = None

    def request(self) -> None:
        """End the turn now, or as soon as it begins to wait for a model or a tool."""
        if not self.requested and self._listening is not None:
            self._listening.cancel()
        self.requested = True

    async def guard(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`; False when it was ended by `request`."""
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

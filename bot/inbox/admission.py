"""Limits concurrent turns to what the event loop can handle, so that commands are answered during a backlog."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from routing.types.stop import Stop, Stopped

ALWAYS = 8
"""This many turns may always run at once."""
PROBE_SECONDS = 0.01
MAX_LAG_SECONDS = 0.03
"""Start another turn only if timers are at most this late. A command takes about twenty steps."""
MAX_WAIT_SECONDS = 2.0
"""Maximum wait of the first turn in the queue."""
BURST = 50
"""This many messages accepted together count as a burst, which may be part of a backlog."""
BURST_SECONDS = 0.25
"""Pause after a burst before turns start, because a command may follow in the rest of the backlog."""
MAX_BURST_SECONDS = 10.0
"""Maximum time that successive bursts delay turns: three times what 10,000 messages take."""


class Admission:
    """Starts turns in order. Turns that wait for a model cost nothing, so thousands may run."""

    def __init__(self) -> None:
        self._running = 0
        self._line = asyncio.Lock()
        self._burst_began = self._last_burst = -math.inf
        self._burst_until = 0.0

    @property
    def has_line(self) -> bool:
        """Whether turns are waiting."""
        return self._line.locked()

    def accepted(self, messages: int) -> None:
        """Note that this many messages were accepted together."""
        if messages < BURST:
            return
        now = asyncio.get_running_loop().time()
        if now - self._last_burst > BURST_SECONDS:
            self._burst_began = now
        self._last_burst = now
        self._burst_until = min(now + BURST_SECONDS, self._burst_began + MAX_BURST_SECONDS)

    @asynccontextmanager
    async def turn(self, stop: Stop) -> AsyncIterator[None]:
        """Wait in order until another turn may start, or until this one is stopped."""
        now = asyncio.get_running_loop().time
        if self._running >= ALWAYS or self._line.locked() or now() < self._burst_until:
            with suppress(Stopped), stop.guard():
                async with self._line:
                    await self._wait()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _wait(self) -> None:
        now = asyncio.get_running_loop().time
        latest = now() + MAX_WAIT_SECONDS
        while now() < latest and (self._running >= ALWAYS or now() < self._burst_until):
            began = now()
            await asyncio.sleep(PROBE_SECONDS)
            if now() - began - PROBE_SECONDS <= MAX_LAG_SECONDS and now() >= self._burst_until:
                return

"""Limits concurrent turns to what the event loop can handle, so that commands are answered during a backlog."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from routing.types.stop import Stop

ALWAYS = 8
"""Turns that always may run at once."""
PROBE_SECONDS = 0.01
MOST_LAG_SECONDS = 0.03
"""Another turn begins only if timers are at most this late. A command has about twenty steps."""
LONGEST_SECONDS = 2.0
"""The longest wait of the first turn in line."""
BURST = 50
"""This many messages accepted at once are taken for part of a backlog."""
BURST_SECONDS = 0.25
"""After a burst, turns wait this long for the next one: a command may stand behind the rest of the backlog."""
LONGEST_BURST_SECONDS = 10.0
"""Bursts that follow each other hold turns back no longer than this: three times what 10,000 messages take."""


class Admission:
    """Lets turns begin in order. Turns that wait for a model cost nothing, so thousands may run."""

    def __init__(self) -> None:
        self._running = 0
        self._line = asyncio.Lock()
        self._burst_began = self._last_burst = -math.inf
        self._burst_until = 0.0

    @property
    def has_line(self) -> bool:
        """Whether turns wait."""
        return self._line.locked()

    def accepted(self, messages: int) -> None:
        """Note how many messages were accepted together."""
        if messages < BURST:
            return
        now = asyncio.get_running_loop().time()
        if now - self._last_burst > BURST_SECONDS:
            self._burst_began = now
        self._last_burst = now
        self._burst_until = min(now + BURST_SECONDS, self._burst_began + LONGEST_BURST_SECONDS)

    @asynccontextmanager
    async def turn(self, stop: Stop) -> AsyncIterator[None]:
        """Wait until one more turn may begin, in order; no longer when this one is stopped."""
        now = asyncio.get_running_loop().time
        if self._running >= ALWAYS or self._line.locked() or now() < self._burst_until:
            await stop.guard(self._wait_in_line())
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    async def _wait_in_line(self) -> None:
        async with self._line:
            await self._wait()

    async def _wait(self) -> None:
        now = asyncio.get_running_loop().time
        latest = now() + LONGEST_SECONDS
        while now() < latest and (self._running >= ALWAYS or now() < self._burst_until):
            began = now()
            await asyncio.sleep(PROBE_SECONDS)
            if now() - began - PROBE_SECONDS <= MOST_LAG_SECONDS and now() >= self._burst_until:
                return

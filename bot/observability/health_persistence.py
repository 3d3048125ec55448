"""Keeps the health of the models across restarts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from routing.config.sections import ConcurrencyLimits
from routing.errors import ModelError, StorageFault
from routing.health.health import ModelHealth
from routing.ports import Clock, StateStore

STATE_KEY = "model_health"
WRITE_DELAY_SECONDS = 0.2
"""Changes within this time are saved together, because an outage opens many circuit breakers."""

log = logging.getLogger(__name__)


class HealthPersistence:
    """Saves model health soon after a change, and on close."""

    def __init__(
        self,
        state: StateStore,
        clock: Clock,
        limits: ConcurrencyLimits | None = None,
        unusable: Callable[[ModelError], None] = lambda error: None,
    ) -> None:
        self.health = ModelHealth(clock, self._changed, limits, unusable)
        self._state = state
        self._writing: asyncio.Task[None] | None = None
        self._stale = False

    async def load(self) -> None:
        """Load the state saved by an earlier process."""
        text = await self._state.get(STATE_KEY)
        if text is not None:
            self.health.restore(text)

    async def close(self) -> None:
        """Save the current state."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})  # otherwise its write could come last
        await self._write()

    def _changed(self) -> None:
        self._stale = True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._soon())

    async def _soon(self) -> None:
        while self._stale:  # it may change again during the write
            await asyncio.sleep(WRITE_DELAY_SECONDS)
            await self._write()

    async def _write(self) -> None:
        self._stale = False
        try:
            await self._state.put(STATE_KEY, self.health.keep())
        except StorageFault as error:
            log.warning("The health of the models could not be saved: %s", error)

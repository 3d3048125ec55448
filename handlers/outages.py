"""Owners hear of a key or a model that nobody but them can mend: once an hour, also across restarts."""

from __future__ import annotations

import asyncio
import json
import logging

from handlers.notices import Notices
from routing.errors import KeyRejected, ModelError, StorageFault
from routing.models.choice import provider_of
from routing.ports import Clock
from routing.stores import StateStore

EVERY_SECONDS = 3600.0
STATE_KEY = "outages"
KEY = "🔑 {reason}: until that is mended {model} is passed over, and the others of its tier answer. /status shows who."
MODEL = (
    "❓ {provider} has no model {model} ({reason}). It is passed over; change it in runtime-config.json or with /model."
)

log = logging.getLogger("handlers.outages")


class Outages:
    """Counts by provider for a key, else by model. What is told is queued durably."""

    def __init__(self, notices: Notices, state: StateStore, clock: Clock) -> None:
        self._notices = notices
        self._state = state
        self._clock = clock
        self._told: dict[str, float] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def note(self, error: ModelError) -> None:
        """A try failed so; returns at once."""
        task = asyncio.create_task(self._tell(error))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, error: ModelError) -> None:
        is_key = isinstance(error, KeyRejected)
        about = provider_of(error.model) if is_key else error.model
        given = {"provider": provider_of(error.model), "model": error.model, "reason": error.raw or error.reason}
        try:
            async with self._turn:
                told, now = await self._known(), self._clock()
                if now - told.get(about, 0.0) < EVERY_SECONDS:
                    return
                await self._notices.tell_owners(KEY if is_key else MODEL, **given)
                self._told = {name: at for name, at in told.items() if now - at < EVERY_SECONDS} | {about: now}
                await self._state.put(STATE_KEY, json.dumps(self._told))
        except StorageFault as fault:
            log.warning("The owner could not be told of %s: %s", error.model, fault)

    async def _known(self) -> dict[str, float]:
        if self._told is None:
            now = self._clock()  # the system clock may have been set back since
            told = json.loads(await self._state.get(STATE_KEY) or "{}")
            self._told = {name: min(at, now) for name, at in told.items()}
        return self._told

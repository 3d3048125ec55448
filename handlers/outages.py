"""Owners hear of a key or a model that nobody but them can mend: once an hour."""

from __future__ import annotations

import asyncio

from handlers.notices import Notices
from routing.errors import KeyRejected, ModelError
from routing.models.choice import provider_of
from routing.ports import Clock

EVERY_SECONDS = 3600.0
KEY = (
    "🔑 {reason}: until that is mended the models of {provider} are passed over, and the others of each tier answer. "
    "/status shows who."
)
MODEL = (
    "❓ {provider} has no model {model} ({reason}). It is passed over; change it in runtime-config.json or with /model."
)


class Outages:
    """Counts by provider and key, or by model. What is told is queued durably."""

    def __init__(self, notices: Notices, clock: Clock) -> None:
        self._notices = notices
        self._clock = clock
        self._told: dict[str, float] = {}
        self._telling: set[asyncio.Task[None]] = set()

    def note(self, error: ModelError) -> None:
        """A try failed so; returns at once."""
        is_key = isinstance(error, KeyRejected)
        about = provider_of(error.model) if is_key else error.model
        if self._clock() - self._told.get(about, -EVERY_SECONDS) < EVERY_SECONDS:
            return
        self._told[about] = self._clock()
        given = {"provider": provider_of(error.model), "model": error.model, "reason": error.reason}
        task = asyncio.create_task(self._notices.tell_owners(KEY if is_key else MODEL, **given))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

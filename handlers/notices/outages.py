"""Tells owners about rejected keys, empty accounts and unknown models: once an hour, also across restarts."""

from __future__ import annotations

import asyncio
import json
import logging

from handlers.notices.notices import Notices
from handlers.replies.outcome import shown
from routing.errors import KeyRejected, ModelError, OutOfCredit, StorageFault
from routing.ports import Clock, StateStore
from routing.types.model_names import provider_of

EVERY_SECONDS = 3600.0
STATE_KEY = "outages"
KEY = "🔑 {reason}. {model} is skipped until the key is fixed; /status shows which models answer."
CREDIT = (
    "💳 The {vendor} account is out of credit, so {model} is skipped. Add credit there or raise its spending "
    "limit; I'll try again within 15 minutes."
)
MODEL = "❓ {provider} has no model {model} ({reason}). It is skipped; change it in runtime-config.json or with /model."

TEMPLATES: tuple[tuple[type[ModelError], str], ...] = ((KeyRejected, KEY), (OutOfCredit, CREDIT))

log = logging.getLogger("handlers.notices.outages")


class Outages:
    """Limits notices per provider for keys and accounts, otherwise per model. Notices are queued durably."""

    def __init__(self, notices: Notices, state: StateStore, clock: Clock) -> None:
        self._notices = notices
        self._state = state
        self._clock = clock
        self._told: dict[str, float] | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def note(self, error: ModelError) -> None:
        """Reports a failed attempt in the background."""
        task = asyncio.create_task(self._tell(error))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, error: ModelError) -> None:
        provider = provider_of(error.model)
        template = next((words for kind, words in TEMPLATES if isinstance(error, kind)), MODEL)
        about = provider if error.shared else error.model
        given = {
            "provider": provider,
            "vendor": shown(provider),
            "model": error.model,
            "reason": error.raw or error.reason,
        }
        try:
            async with self._turn:
                told, now = await self._known(), self._clock()
                if now - told.get(about, 0.0) < EVERY_SECONDS:
                    return
                await self._notices.tell_owners(template, **given)
                self._told = {name: at for name, at in told.items() if now - at < EVERY_SECONDS} | {about: now}
                await self._state.put(STATE_KEY, json.dumps(self._told))
        except StorageFault as fault:
            log.warning("The owner could not be told about %s: %s", error.model, fault)

    async def _known(self) -> dict[str, float]:
        if self._told is None:
            now = self._clock()  # the system clock may have been set back
            stored = json.loads(await self._state.get(STATE_KEY) or "{}")
            self._told = {name: min(at, now) for name, at in stored.items()}
        return self._told

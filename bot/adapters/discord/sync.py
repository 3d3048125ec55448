"""The registered commands: replaced as a whole, and only when they changed."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Protocol

from bot.adapters.discord.failure import TROUBLES, reason
from bot.adapters.discord.tree import Json
from routing.stores import StateStore

STATE_KEY = "discord_commands"

log = logging.getLogger(__name__)


class Calls(Protocol):
    """What is needed of `discord.http.HTTPClient`."""

    async def bulk_upsert_global_commands(self, application_id: int, payload: list[Json]) -> object: ...


async def sync(calls: Calls, application_id: int, commands: list[Json], state: StateStore) -> None:
    """Register the commands if they differ from those registered last. A failure is logged; the next start tries
    again."""
    fingerprint = hashlib.sha256(json.dumps([application_id, commands]).encode()).hexdigest()
    if await state.get(STATE_KEY) == fingerprint:
        return
    try:
        await calls.bulk_upsert_global_commands(application_id, commands)
    except TROUBLES as error:
        log.warning("Discord: the commands could not be registered (%s); the next start tries again", reason(error))
        return
    await state.put(STATE_KEY, fingerprint)
    log.info("Discord: %d commands registered", len(commands))

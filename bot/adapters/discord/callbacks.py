"""First answers to interactions: they must come within three seconds, and the bot's limits do not hold them up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import discord
from discord import app_commands

from bot.adapters.discord.failure import TROUBLES, reason
from bot.adapters.discord.stage import Stage
from bot.adapters.discord.tree import Json

PATIENCE = 5.0
"""Seconds; what Discord has not taken by then it does not know any more."""
UNKNOWN, ANSWERED = 10062, 40060
"""Discord's codes for an interaction that is gone, and for one that has its first answer."""

log = logging.getLogger(__name__)


class Callbacks:
    """The calls that an interaction's own token allows."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def defer(self, payload: Json, ephemeral: bool) -> bool:
        """Say that an answer is coming. False when Discord knows nothing of the interaction any more; a call that
        came to no end may have been taken."""
        asked = self._interaction(payload)
        try:
            async with asyncio.timeout(PATIENCE):
                await asked.response.defer(ephemeral=ephemeral, thinking=asked.type.name == "application_command")
        except discord.HTTPException as error:
            if error.code == UNKNOWN:
                self._stage.forget(asked.id)
                log.warning(
                    "Discord: interaction %d was acknowledged too late; its answer is a plain message", asked.id
                )
            elif error.code != ANSWERED:
                log.warning("Discord: interaction %d could not be acknowledged (%s)", asked.id, reason(error))
            return error.code != UNKNOWN
        except TROUBLES as error:
            log.warning("Discord: interaction %d could not be acknowledged (%s)", asked.id, reason(error))
        return True

    async def suggest(self, payload: Json, words: Sequence[str]) -> None:
        """Offer what may be meant; nobody misses it if that fails."""
        choices = [app_commands.Choice(name=word, value=word) for word in words]
        try:
            async with asyncio.timeout(PATIENCE):
                await self._interaction(payload).response.autocomplete(choices)
        except TROUBLES as error:
            log.debug("suggestions: %s", reason(error))

    async def withdraw(self, payload: Json) -> None:
        """Take back that an answer is coming."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._interaction(payload).delete_original_response()
        except TROUBLES as error:
            log.debug("a deferral stays: %s", reason(error))

    def _interaction(self, payload: Any) -> discord.Interaction:
        return discord.Interaction(data=payload, state=self._stage.client._connection)

"""What only the owners can mend is told to them, wherever they are; once, not at every start."""

from __future__ import annotations

import asyncio
from typing import Protocol

from handlers.patience import patiently
from routing.stores import StateStore

STATE_KEY = "discord_told"


class Tell(Protocol):
    """Says a sentence to the owners, in their language."""

    async def __call__(self, template: str, /, **values: object) -> None: ...


class Alarm:
    """Remembers what was told last; the same is told again only when all was well in between."""

    def __init__(self, tell: Tell, state: StateStore) -> None:
        self._tell = tell
        self._state = state
        self._turn = asyncio.Lock()

    async def sound(self, sentence: str) -> None:
        """Empty when all is well."""
        async with self._turn:
            if (await patiently(self._state.get, STATE_KEY) or "") == sentence:
                return
            if sentence:
                await patiently(self._say, sentence)
            await patiently(self._state.put, STATE_KEY, sentence or None)

    async def _say(self, sentence: str) -> None:
        await self._tell("⚠️ {reason}", reason=sentence)

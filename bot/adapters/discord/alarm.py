"""What only the owners can mend is told to them, wherever they are; once, not at every start."""

from __future__ import annotations

import asyncio
import json
from typing import Protocol

from handlers.patience import patiently
from routing.stores import StateStore

STATE_KEY = "discord_told"
LACKS_KEY = "discord_told_lacks"


class Tell(Protocol):
    """Says a sentence to the owners, in their language."""

    async def __call__(self, template: str, /, **values: object) -> None: ...


class Alarm:
    """Remembers what was told last; the same is told again only when all was well in between."""

    def __init__(self, tell: Tell, state: StateStore) -> None:
        self._tell_owners = tell
        self._state = state
        self._turn = asyncio.Lock()
        self._lacks: set[str] | None = None

    async def sound(self, template: str, /, **values: object) -> None:
        """Empty when all is well."""
        sentence = template.format(**values)
        async with self._turn:
            if (await patiently(self._state.get, STATE_KEY) or "") == sentence:
                return
            if sentence:
                await patiently(self._tell_owners, template, **values)
            await patiently(self._state.put, STATE_KEY, sentence or None)

    async def lacks(self, what: str, template: str, /, **values: object) -> None:
        """`what` is missing, such as a permission in a channel; the template is empty when it is there."""
        async with self._turn:
            if self._lacks is None:
                kept = await patiently(self._state.get, LACKS_KEY)
                self._lacks = set(json.loads(kept or "[]"))
            if (what in self._lacks) == bool(template):
                return
            if template:
                await patiently(self._tell_owners, template, **values)
            self._lacks ^= {what}
            await patiently(self._state.put, LACKS_KEY, json.dumps(sorted(self._lacks)) if self._lacks else None)

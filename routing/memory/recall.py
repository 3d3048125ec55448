"""Finds the facts about a person that a message is about, by words and by the shipped encoder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from routing.bounded import SizeBounded
from routing.ports import Embedder, FactStore
from routing.types.memory import NOTHING_REMEMBERED, Fact, Recollection

if TYPE_CHECKING:  # numpy and the stemmer are imported later, in a thread
    from routing.memory.index import Embed, FactIndex

MAX_IN_PROMPT = 8
"""Maximum number of facts in a prompt."""
MAX_PINNED = 4
"""Maximum number of those that are there whatever the message says: the newest pinned ones."""
MAX_PROMPT_CHARACTERS = 1_200
"""Maximum length of the facts in a prompt, in characters: about 300 tokens."""
MAX_INDEXED, FACTS_PER_INDEX = 8_000, 4
"""Maximum number of facts in all indexes together, about 10 MB; each index counts as a few more."""
MAX_QUERY_CHARACTERS = 1_000
"""Length to which a message is cut."""


class Memory:
    """Searches in a person's facts. Uses words alone without an encoder, or while it is loading."""

    def __init__(self, facts: FactStore, embedder: Embedder | None) -> None:
        self.facts = facts
        self._embed = embedder.at_once if embedder is not None else None
        self._indexes: SizeBounded[int, FactIndex] = SizeBounded(
            MAX_INDEXED, lambda index: len(index.facts) + FACTS_PER_INDEX
        )
        """By person, the least recently used first."""

    async def for_prompt(self, person_id: int, message: str, earlier: Sequence[str]) -> Recollection:
        """The pinned facts and those relevant for the message; oldest first, so that the text stays the same while the
        choice does. `earlier` are the person's last messages, newest first."""
        facts = await self.facts.of(person_id)
        if not facts:
            return NOTHING_REMEMBERED
        found = await self._found(person_id, [message, *earlier[:1]], MAX_IN_PROMPT, False)
        pinned = [each for each in reversed(facts) if each.pinned][:MAX_PINNED]
        chosen: dict[int, Fact] = {}
        room = MAX_PROMPT_CHARACTERS
        for fact in (*pinned, *found):
            if fact.id not in chosen and len(chosen) < MAX_IN_PROMPT and len(fact.text) <= room:
                chosen[fact.id] = fact
                room -= len(fact.text)
        return Recollection(tuple(chosen[each] for each in sorted(chosen)), len(facts))

    async def search(self, person_id: int, query: str, limit: int) -> tuple[Fact, ...]:
        """The facts that match the query, best first; the newest ones for a query without words."""
        if not any(map(str.isalnum, query)):
            return (await self.facts.of(person_id))[::-1][:limit]
        return tuple(await self._found(person_id, [query], limit, True))

    async def containing(self, person_id: int, query: str) -> tuple[Fact, ...]:
        """The facts that contain all words of the query but the stop words; none for a query without others."""
        index = await self._index(person_id)
        return () if index is None else index.containing(query[:MAX_QUERY_CHARACTERS])

    async def _found(self, person_id: int, texts: Sequence[str], limit: int, near: bool) -> list[Fact]:
        index = await self._index(person_id)
        if index is None:
            return []
        best = index.scores([text[:MAX_QUERY_CHARACTERS] for text in texts], self._embed).best(limit, near)
        return [index.facts[at] for at in best]

    async def _index(self, person_id: int) -> FactIndex | None:
        """The index of the present facts; None if there are none."""
        facts = await self.facts.of(person_id)
        known = self._indexes.take(person_id)
        if not facts:
            return None
        if known is None or known.facts != facts or (known.vectors is None and self._ready()):
            known = await asyncio.to_thread(_build, facts, self._embed)
        self._indexes[person_id] = known
        return known

    def _ready(self) -> bool:
        return self._embed is not None and self._embed([]) is not None


def _build(facts: tuple[Fact, ...], embed: Embed | None) -> FactIndex:
    from routing.memory.index import FactIndex

    return FactIndex.of(facts, embed)

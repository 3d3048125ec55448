"""Finds the facts about a person that a message is about: by words, by the shipped encoder, and in a search by e5."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from routing.bounded import Bounded, SizeBounded
from routing.errors import EmbedderFailed
from routing.ports import Embedder, FactStore
from routing.tools.embedding.texts import FEW_TEXTS
from routing.types.memory import NOTHING_REMEMBERED, Fact, Recollection
from routing.types.vectors import Floats

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
SEARCH_SECONDS = 2.0
"""How long a search waits for vectors by e5, which computes one in 24 ms (`benchmarks.encoders`). The next search goes
on with the other facts."""
MAX_VECTORS = 4_000
"""Maximum number of facts of all people whose vectors by e5 are kept: 6 MB."""

log = logging.getLogger("routing")


class Memory:
    """Searches in a person's facts. Uses words alone without an encoder, or while it is loading."""

    def __init__(self, facts: FactStore, embedder: Embedder | None, e5: Embedder | None = None) -> None:
        """`embedder` is the shipped encoder. `e5` takes longer and knows more languages; only a search waits for it."""
        self.facts = facts
        self._e5 = e5
        self._vectors: Bounded[bytes, Floats] = Bounded(MAX_VECTORS)
        """By e5, by the hash of a fact's text."""
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
        texts = [text[:MAX_QUERY_CHARACTERS] for text in texts]
        similarity = await self._similarity(texts[0], index.facts, self._e5) if near and self._e5 else None
        return [index.facts[at] for at in index.scores(texts, self._embed, similarity).best(limit, near)]

    async def _similarity(self, query: str, facts: Sequence[Fact], encoder: Embedder) -> Floats | None:
        """The cosine of the query with each fact, 0 for those whose vectors took too long; None without vectors."""
        query_vector: Floats | None = None
        try:
            async with asyncio.timeout(SEARCH_SECONDS):
                (query_vector,) = await encoder.embed([query])
                missing = [each.text for each in reversed(facts) if _hash(each.text) not in self._vectors]
                for start in range(0, len(missing), FEW_TEXTS):
                    texts = missing[start : start + FEW_TEXTS]
                    for text, vector in zip(texts, await encoder.embed(texts), strict=True):
                        self._vectors[_hash(text)] = vector
        except EmbedderFailed as error:
            log.info("[Memory] Not all facts were compared by e5: %s", error.reason)
        except TimeoutError:
            log.info("[Memory] Not all facts were compared by e5 within %g s", SEARCH_SECONDS)
        if query_vector is None:
            return None
        from routing.memory.index import cosines

        return cosines(query_vector, [self._vectors.get(_hash(each.text)) for each in facts])

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


def _hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _build(facts: tuple[Fact, ...], embed: Embed | None) -> FactIndex:
    from routing.memory.index import FactIndex

    return FactIndex.of(facts, embed)

"""A ranker for a snapshot of the toolkits, whose vectors are stored in the database."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from routing.errors import StorageFault
from routing.ports import Embedder, VectorStore
from routing.tools.selection.entries import NO_TOOL, entries
from routing.tools.selection.features import Vectors
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache, fingerprint
from routing.tools.selection.ranker import Ranker
from routing.tools.selection.small_talk import without_tool
from routing.types.toolkits import Toolkit
from routing.types.vectors import Floats

MIN_FREE_BYTES = 100_000_000
"""Free disk space below which nothing is stored: the rest is for messages."""
BATCH = 256
"""Texts that are embedded and stored at once."""

log = logging.getLogger("routing")


def rows(toolkits: Sequence[Toolkit]) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """The toolkits as the catalogue and the examples of `build_selector`, with messages that need no tool."""
    catalogue = [
        {
            "name": toolkit.name,
            "description": toolkit.description,
            "keywords": list(toolkit.keywords),
            "category": toolkit.category,
            "tools": [
                {"name": card.name, "description": text.description, "parameters": text.parameters}
                for card in toolkit.tools
                for text in (card.texts["XL"],)
            ],
        }
        for toolkit in toolkits
    ]
    examples = {f"{toolkit.name}/{card.name}": list(card.examples) for toolkit in toolkits for card in toolkit.tools}
    return catalogue, {**examples, NO_TOOL: list(without_tool())}


class Catalogue:
    """Thread-safe. Blocks while it is built."""

    def __init__(self, toolkits: Sequence[Toolkit], cache: Path | None = None) -> None:
        """The lexical index is stored in the file `cache`."""
        self.tools = tuple(card.name for toolkit in toolkits for card in toolkit.tools)
        described, examples = rows(toolkits)
        given, negatives = entries(described, examples), examples[NO_TOOL]
        source = fingerprint(given, negatives) if cache else ""
        index = IndexCache.load(cache, source) if cache else IndexCache()
        self.ranker = Ranker(given, negatives, Glossary.load(), Fusion.load(), cache=index)
        self._cache = cache
        self._width = 0
        self.computed = 0
        """Vectors that were not in the database."""
        if cache and index.grew and self._has_space():
            index.save(cache, source)

    def accepts(self, vectors: Mapping[str, Floats]) -> bool:
        """Whether they are as wide as those of the tools."""
        return {len(row) for row in vectors.values()} <= {self._width}

    async def embed(self, embedder: Embedder, store: VectorStore) -> None:
        """Load the stored vectors, compute and store the missing ones, and use them. Raises EmbedderFailed."""
        texts = await asyncio.to_thread(self._texts)
        name = await asyncio.to_thread(lambda: embedder.name)
        stored = _valid(await _get(store, name, tuple(texts)))
        computed: dict[str, Floats] = {}
        # At least one is computed: that shows whether the encoder works, and how wide its rows are now.
        missing = [each for each in texts if each not in stored] or list(texts)[:1]
        while missing:
            hashes, missing = missing[:BATCH], missing[BATCH:]
            found = np.asarray(await embedder.embed([texts[each] for each in hashes]), np.float32)
            computed |= zip(hashes, found, strict=True)
            self.computed += len(hashes)
            if any(len(row) != found.shape[1] for row in islice(stored.values(), 1)):
                missing += [each for each in stored if each not in computed]
                stored = {}
            if await asyncio.to_thread(self._has_space):
                await _put(store, name, {each: computed[each] for each in hashes})
        await asyncio.to_thread(self._use, stored | computed, name)

    async def forget(self, encoder: str, store: VectorStore) -> None:
        """Delete all stored vectors except those by this encoder for this catalogue."""
        try:
            await store.keep(encoder, await asyncio.to_thread(self._texts))
        except StorageFault as fault:
            log.warning("[Embeddings] Old vectors can't be deleted (%s)", fault)

    def _has_space(self) -> bool:
        if self._cache is None:
            return True
        folder = next(each for each in self._cache.parents if each.exists())
        return shutil.disk_usage(folder).free >= MIN_FREE_BYTES

    def _texts(self) -> dict[str, str]:
        """The texts with a vector, by hash."""
        return {_hash(text): text for part in self._parts for text in part}

    def _use(self, vectors: Mapping[str, Floats], encoder: str) -> None:
        self._width = len(next(iter(vectors.values()), ()))
        empty = np.zeros((0, self._width), np.float32)
        stacked = (np.stack([vectors[_hash(text)] for text in part]) if part else empty for part in self._parts)
        self.ranker.use(Vectors(*stacked), encoder)

    @property
    def _parts(self) -> tuple[tuple[str, ...], ...]:
        passages = self.ranker.passages
        return passages.described, passages.examples, passages.negatives


async def _get(store: VectorStore, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
    try:
        return await store.get(encoder, hashes)
    except StorageFault as fault:
        log.warning("[Embeddings] The saved vectors can't be read (%s); computing them again", fault)
        return {}


async def _put(store: VectorStore, encoder: str, new: Mapping[str, Floats]) -> None:
    try:
        await store.put(encoder, {each: row.astype("<f4").tobytes() for each, row in new.items()})
    except StorageFault as fault:
        log.warning("[Embeddings] The vectors can't be saved (%s); the next start computes them again", fault)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _valid(stored: Mapping[str, bytes]) -> dict[str, Floats]:
    """The rows of the most common length; others are broken."""
    lengths = [len(row) for row in stored.values()]
    usual = max(set(lengths), key=lengths.count, default=0)
    whole = {each: row for each, row in stored.items() if len(row) == usual and usual and usual % 4 == 0}
    return {each: np.frombuffer(row, "<f4").astype(np.float32) for each, row in whole.items()}

"""The toolkits of one moment as the selection knows them."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from routing.errors import StorageFault
from routing.ports import Embedder, VectorStore
from routing.tools.selection.entries import entries
from routing.tools.selection.features import Vectors
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index import Index, load, made_of
from routing.tools.selection.selector import Decision, Part, Selector
from routing.tools.selection.small_talk import small_talk
from routing.types.toolkits import Toolkit
from routing.types.vectors import Floats

SPARE_BYTES = 100_000_000
"""Free on the disk, below which nothing is kept."""
BATCH = 256
"""Texts that are embedded, and kept, at once."""

log = logging.getLogger("routing")


def rows(toolkits: Sequence[Toolkit]) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """The toolkits in the form of `build_selector`: a catalogue, and what people say."""
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
    said = {f"{toolkit.name}/{card.name}": list(card.examples) for toolkit in toolkits for card in toolkit.tools}
    return catalogue, said


class Catalogue:
    """Made and asked in threads, by several at once."""

    def __init__(self, toolkits: Sequence[Toolkit], cache: Path | None = None) -> None:
        """What is slow to make of the words is kept in the file `cache`."""
        self.tools = tuple(card.name for toolkit in toolkits for card in toolkit.tools)
        given, negatives = entries(*rows(toolkits)), small_talk()
        inputs = made_of(given, negatives) if cache else ""
        index = load(cache, inputs) if cache else Index()
        self._selector = Selector(given, negatives, Glossary.load(), Fusion.load(), index=index)
        self._cache = cache
        self._width = 0
        self.made = 0
        """Vectors that were made anew."""
        if cache and index.grew and self._has_room():
            index.save(cache, inputs)

    def parts(self, message: str) -> tuple[Part, ...]:
        """What its words say."""
        return self._selector.parts(message)

    def open(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """Texts whose vectors are needed."""
        return self._selector.open(parts)

    def decide(
        self, parts: Sequence[Part], vectors: Mapping[str, Floats], among: Collection[str] | None = None
    ) -> Decision:
        """What is shown of the toolkits `among` which may be."""
        return self._selector.decide(parts, vectors, among)

    def takes(self, vectors: Mapping[str, Floats]) -> bool:
        """Whether they are as wide as those of the tools."""
        return {len(row) for row in vectors.values()} <= {self._width}

    async def embed(self, embedder: Embedder, store: VectorStore) -> None:
        """Compare vectors from now on: those that are kept, and new ones of what is not, which are kept. Raises
        EmbedderFailed."""
        texts = await asyncio.to_thread(self._texts)
        name = await asyncio.to_thread(lambda: embedder.name)
        kept = _readable(await _kept(store, name, tuple(texts)))
        made: dict[str, Floats] = {}
        # One at least is made anew: that shows whether the encoder works, and how wide its rows are by now.
        missing = [each for each in texts if each not in kept] or list(texts)[:1]
        while missing:
            hashes, missing = missing[:BATCH], missing[BATCH:]
            found = np.asarray(await embedder.embed([texts[each] for each in hashes]), np.float32)
            made |= zip(hashes, found, strict=True)
            self.made += len(hashes)
            if any(len(row) != found.shape[1] for row in islice(kept.values(), 1)):
                missing += [each for each in kept if each not in made]
                kept = {}
            if self._has_room():
                await _keep(store, name, {each: made[each] for each in hashes})
        await asyncio.to_thread(self._use, kept | made)

    async def forget(self, encoder: str, store: VectorStore) -> None:
        """Keep no vectors but those that this encoder made of texts of this catalogue."""
        try:
            await store.keep(encoder, await asyncio.to_thread(self._texts))
        except StorageFault as fault:
            log.warning("[Embeddings] Old vectors can't be deleted (%s)", fault)

    def _has_room(self) -> bool:
        """Whether the disk has room for what can be made again: the last of it is for messages."""
        if self._cache is None:
            return True
        there = next(each for each in self._cache.parents if each.exists())
        return shutil.disk_usage(there).free >= SPARE_BYTES

    def _texts(self) -> dict[str, str]:
        """What has a vector, by its hash."""
        return {_hash(text): text for group in self._groups for text in group}

    def _use(self, vectors: Mapping[str, Floats]) -> None:
        self._width = len(next(iter(vectors.values()), ()))
        empty = np.zeros((0, self._width), np.float32)
        stacked = (np.stack([vectors[_hash(text)] for text in group]) if group else empty for group in self._groups)
        self._selector.use(Vectors(*stacked))

    @property
    def _groups(self) -> tuple[tuple[str, ...], ...]:
        told = self._selector.texts
        return told.described, told.examples, told.descriptions, told.negatives


async def _kept(store: VectorStore, encoder: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
    try:
        return await store.get(encoder, hashes)
    except StorageFault as fault:
        log.warning("[Embeddings] The saved vectors can't be read (%s); computing them again", fault)
        return {}


async def _keep(store: VectorStore, encoder: str, new: Mapping[str, Floats]) -> None:
    try:
        await store.put(encoder, {each: row.astype("<f4").tobytes() for each, row in new.items()})
    except StorageFault as fault:
        log.warning("[Embeddings] The vectors can't be saved (%s); the next start computes them again", fault)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _readable(kept: Mapping[str, bytes]) -> dict[str, Floats]:
    """Rows of the length that most have; the others are broken."""
    lengths = [len(row) for row in kept.values()]
    usual = max(set(lengths), key=lengths.count, default=0)
    whole = {each: row for each, row in kept.items() if len(row) == usual and usual and usual % 4 == 0}
    return {each: np.frombuffer(row, "<f4").astype(np.float32) for each, row in whole.items()}

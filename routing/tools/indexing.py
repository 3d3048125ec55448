"""The index of the tools, made in the background and again when they change."""

from __future__ import annotations

import asyncio
import importlib
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from routing.errors import EmbedderFailed
from routing.ports import Embedder, VectorStore
from routing.process_memory import give_back
from routing.tools.fallback_reasons import EMBEDDING, LOADING, OFF, UNMADE
from routing.types.toolkits import Toolkit

if TYPE_CHECKING:  # numpy and the dictionaries come late, in a thread
    from routing.tools.selection.catalogue import Catalogue

RETRY_SECONDS, LONGEST_RETRY_SECONDS = 30.0, 600.0
SETTLED_SECONDS = 3600.0
"""How long toolkits stay the same until the vectors of others are deleted: a server that is away for a while, or not
yet connected after a start, need not be embedded anew."""
MOST_NEW = 20_000
"""Vectors that are made until those of other toolkits are deleted at once: 20 MB of the database."""
PAUSE_SECONDS = 10.0
"""Toolkits that change more often are embedded together."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Indexed:
    """An index, None before the first, and the toolkits that it knows; why it does not know all of them, or compares
    no vectors, or empty. `known` is for what was decided with it: with the next one it is empty again."""

    catalogue: Catalogue | None = None
    toolkits: tuple[Toolkit, ...] = ()
    doubt: str = LOADING
    known: dict[object, Any] = field(default_factory=dict)


class ToolIndex:
    """Makes the index of some toolkits, with words first, then with vectors; the old one serves until then."""

    def __init__(self, embedder: Embedder | None, vectors: VectorStore, cache: Path | None) -> None:
        self.latest = Indexed()
        self.ready = asyncio.Event()
        """There is an index, or none can be made."""
        self._embedder = embedder
        self._store = vectors
        self._cache = cache
        self._work: asyncio.Task[None] | None = None
        self._new = 0
        self._embedded_at = -PAUSE_SECONDS

    def make(self, toolkits: tuple[Toolkit, ...]) -> None:
        """In the background, instead of what is being made."""
        if self._work is not None:
            self._work.cancel()
        self._use(self.latest.catalogue, self.latest.toolkits, LOADING)
        self._work = asyncio.create_task(self._make(toolkits))

    async def close(self) -> None:
        """End what runs in the background; the latest index stays."""
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def _make(self, toolkits: tuple[Toolkit, ...]) -> None:
        """The words first, then the vectors; what is not needed any more is forgotten in the end."""
        try:
            catalogue = await asyncio.to_thread(_catalogue, toolkits, self._cache)
        except Exception as error:  # a library that this machine can't load, or a broken file: keywords are left
            log.exception("[Embeddings] The tool index could not be built")
            self._use(self.latest.catalogue, self.latest.toolkits, f"{UNMADE} ({type(error).__name__}, see the log)")
            self.ready.set()
            return
        self._use(catalogue, toolkits, OFF if self._embedder is None else EMBEDDING)
        self.ready.set()
        if self._embedder is not None:
            await self._vectors(catalogue, toolkits, self._embedder)

    async def _vectors(self, catalogue: Catalogue, toolkits: tuple[Toolkit, ...], embedder: Embedder) -> None:
        if self._new > MOST_NEW:
            await catalogue.forget(embedder.name, self._store)
            self._new = 0
        try:
            await self._embed(catalogue, toolkits, embedder)
        finally:
            self._new += catalogue.made
        await asyncio.to_thread(give_back)
        await asyncio.sleep(SETTLED_SECONDS)
        await catalogue.forget(embedder.name, self._store)

    async def _embed(self, catalogue: Catalogue, toolkits: tuple[Toolkit, ...], embedder: Embedder) -> None:
        """Again and again until the vectors are there."""
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._embedded_at + PAUSE_SECONDS - now())
        wait = RETRY_SECONDS
        while True:
            self._embedded_at = now()
            try:
                await catalogue.embed(embedder, self._store)
            except EmbedderFailed as error:
                log.warning("[Embeddings] Off: %s", error)
                self._use(catalogue, toolkits, str(error))
            except (Exception, asyncio.CancelledError) as error:  # whatever an encoder did not foresee: words are left
                if is_cancelled():
                    raise
                log.exception("[Embeddings] The tools could not be embedded")
                self._use(catalogue, toolkits, f"the tools could not be embedded ({type(error).__name__}, see the log)")
            else:
                self._use(catalogue, toolkits, "")
                log.info("[Embeddings] %d tools, with %s", len(catalogue.tools), embedder.name)
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_RETRY_SECONDS)

    def _use(self, catalogue: Catalogue | None, toolkits: tuple[Toolkit, ...], doubt: str) -> None:
        self.latest = Indexed(catalogue, toolkits, doubt)


def is_cancelled() -> bool:
    """Whether we are to end, and not only what we wait for."""
    return (task := asyncio.current_task()) is not None and task.cancelling() > 0


def _catalogue(toolkits: tuple[Toolkit, ...], cache: Path | None) -> Any:
    return importlib.import_module("routing.tools.selection.catalogue").Catalogue(toolkits, cache)

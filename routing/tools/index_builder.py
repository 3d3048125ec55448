"""Builds the index of the tools in the background, and again when they change."""

from __future__ import annotations

import asyncio
import importlib
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from routing.backoff import exponential
from routing.bounded import Bounded
from routing.error_boundary import ErrorBoundary
from routing.errors import EmbedderFailed, Reason
from routing.ports import Embedder, VectorStore
from routing.process_memory import trim_memory
from routing.tools.fallback_reasons import EMBEDDING, LOADING, OFF
from routing.types.toolkits import Toolkit

if TYPE_CHECKING:  # numpy and the dictionaries are imported later, in a thread
    from routing.tools.selection.catalogue import Catalogue

RETRY_SECONDS, MAX_RETRY_SECONDS = 30.0, 600.0
SETTLED_SECONDS = 3600.0
"""Unchanged for this long, the vectors of other toolkits are deleted. A server that is away for a while keeps its
vectors."""
MAX_NEW_VECTORS = 20_000
"""Computed vectors after which those of other toolkits are deleted at once: 20 MB of the database."""
CACHED_MESSAGES = 256
PAUSE_SECONDS = 10.0
"""Minimum time between two rounds of embedding."""

log = logging.getLogger("routing")


@dataclass(frozen=True, slots=True)
class Index:
    """An index of `toolkits`, None before the first. `fallback_reason` says why it is out of date or compares no
    vectors; empty if neither. `selections` caches what was selected with it."""

    catalogue: Catalogue | None = None
    toolkits: tuple[Toolkit, ...] = ()
    fallback_reason: str = LOADING
    selections: Bounded[object, Any] = field(default_factory=lambda: Bounded(CACHED_MESSAGES))


class IndexBuilder:
    """Builds an index with words first, then with vectors. The old one serves until then."""

    def __init__(self, embedder: Embedder | None, vectors: VectorStore, cache: Path | None) -> None:
        self.latest = Index()
        self.ready = asyncio.Event()
        """Set when there is an index, or none can be built."""
        self._embedder = embedder
        self._store = vectors
        self._cache = cache
        self._work: asyncio.Task[None] | None = None
        self._new = 0
        self._embedded_at = -PAUSE_SECONDS

    def build(self, toolkits: tuple[Toolkit, ...]) -> None:
        """Build an index in the background and cancel the build under way."""
        if self._work is not None:
            self._work.cancel()
        self._use(self.latest.catalogue, self.latest.toolkits, LOADING)
        self._work = asyncio.create_task(self._build(toolkits))

    async def close(self) -> None:
        """Stop the background work. The latest index stays."""
        if self._work is not None:
            self._work.cancel()
            with suppress(asyncio.CancelledError):
                await self._work

    async def _build(self, toolkits: tuple[Toolkit, ...]) -> None:
        catalogue: Catalogue | None = None
        with ErrorBoundary(log, "[Embeddings] The tool index could not be built") as boundary:
            catalogue = await asyncio.to_thread(_catalogue, toolkits, self._cache)
        if catalogue is None:
            kind = type(boundary.error).__name__
            reason = Reason("the tool index could not be built ({error}, see the log)", error=kind)
            self._use(self.latest.catalogue, self.latest.toolkits, reason)
            self.ready.set()
            return
        self._use(catalogue, toolkits, OFF if self._embedder is None else EMBEDDING)
        self.ready.set()
        if self._embedder is not None:
            await self._vectors(catalogue, toolkits, self._embedder)

    async def _vectors(self, catalogue: Catalogue, toolkits: tuple[Toolkit, ...], embedder: Embedder) -> None:
        if self._new > MAX_NEW_VECTORS:
            await catalogue.forget(embedder.name, self._store)
            self._new = 0
        try:
            await self._embed(catalogue, toolkits, embedder)
        finally:
            self._new += catalogue.computed
        await asyncio.to_thread(trim_memory)
        await asyncio.sleep(SETTLED_SECONDS)
        await catalogue.forget(embedder.name, self._store)

    async def _embed(self, catalogue: Catalogue, toolkits: tuple[Toolkit, ...], embedder: Embedder) -> None:
        """Retry until the vectors are there."""
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._embedded_at + PAUSE_SECONDS - now())
        failures = 0
        boundary = ErrorBoundary(log, "[Embeddings] The tools could not be embedded")
        while True:
            self._embedded_at = now()
            reason = ""
            with boundary:
                try:
                    await catalogue.embed(embedder, self._store)
                except EmbedderFailed as error:
                    log.warning("[Embeddings] Off: %s", error)
                    reason = error.reason
            if boundary.error is not None:
                kind = type(boundary.error).__name__
                reason = Reason("the tools could not be embedded ({error}, see the log)", error=kind)
            self._use(catalogue, toolkits, reason)
            if not reason:
                log.info("[Embeddings] %d tools, with %s", len(catalogue.tools), embedder.name)
                return
            failures += 1
            await asyncio.sleep(exponential(failures, RETRY_SECONDS, MAX_RETRY_SECONDS))

    def _use(self, catalogue: Catalogue | None, toolkits: tuple[Toolkit, ...], reason: str) -> None:
        self.latest = Index(catalogue, toolkits, reason)


def _catalogue(toolkits: tuple[Toolkit, ...], cache: Path | None) -> Any:
    return importlib.import_module("routing.tools.selection.catalogue").Catalogue(toolkits, cache)

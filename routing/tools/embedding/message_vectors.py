"""Computes and caches the vectors of messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from routing.bounded import Bounded
from routing.error_boundary import ErrorBoundary
from routing.errors import EmbedderFailed, Reason
from routing.ports import Embedder
from routing.tools.fallback_reasons import SLOW
from routing.types.vectors import Floats

CACHED_TEXTS = 64
"""Enough for four messages of seven clauses with their glosses; 0.1 MB at 384 dimensions."""

log = logging.getLogger("routing")


class MessageVectors:
    """Asks an embedder, with a time limit, and keeps the last vectors."""

    def __init__(self, embedder: Embedder, wait_seconds: float) -> None:
        self.embedder = embedder
        self.wait_seconds = wait_seconds
        self._known: Bounded[str, Floats] = Bounded(CACHED_TEXTS)

    async def of(self, texts: Sequence[str]) -> tuple[dict[str, Floats], str]:
        """A vector of length 1 for each text, or no vectors and the reason. Raises nothing, and takes no longer than
        the wait."""
        cache = self._known
        known = {text: row for text in texts if (row := cache.get(text)) is not None}
        missing = [text for text in texts if text not in known]
        if not missing:
            return known, ""
        with ErrorBoundary(log, "[Embeddings] A message could not be embedded") as boundary:
            try:
                async with asyncio.timeout(self.wait_seconds):
                    made = await self.embedder.embed(missing)
            except TimeoutError:
                return {}, SLOW
            except EmbedderFailed as error:
                return {}, error.reason
            from routing.tools.embedding.rows import unit  # with numpy, which the embedder has imported

            found = dict(zip(missing, unit(made, len(missing)), strict=True))
            for text, row in found.items():
                cache[text] = row
            return known | found, ""
        kind = type(boundary.error).__name__
        return {}, Reason("the message could not be embedded ({error}, see the log)", error=kind)

    def forget(self) -> None:
        """Drop the kept vectors, because the model has changed."""
        self._known = Bounded(CACHED_TEXTS)

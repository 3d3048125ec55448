"""The vectors of messages, computed once for all that compare a message."""

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
"""Enough for the messages that are answered at the same time; 0.1 MB."""

log = logging.getLogger("routing")


class MessageVectors:
    """Asks an embedder, with a time limit, and keeps the last vectors."""

    def __init__(self, embedder: Embedder, wait_seconds: float) -> None:
        self.embedder = embedder
        self.wait_seconds = wait_seconds
        self._known: Bounded[str, Floats] = Bounded(CACHED_TEXTS)

    async def of(self, texts: Sequence[str]) -> tuple[dict[str, Floats], str]:
        """A row by text, or no rows and the reason. Never fails, and takes no longer than the wait."""
        known = {text: row for text in texts if (row := self._known.get(text)) is not None}
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
                self._known[text] = row
            return known | found, ""
        kind = type(boundary.error).__name__
        return {}, Reason("the message could not be embedded ({error}, see the log)", error=kind)

    def forget(self) -> None:
        """Drop the kept vectors, because the model has changed."""
        self._known.clear()

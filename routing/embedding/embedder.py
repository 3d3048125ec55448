"""What makes vectors of texts, and how it says that it can't."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from routing.errors import TierbotError

if TYPE_CHECKING:
    from routing.selection.lexical import Floats

FEW_TEXTS = 16
"""Up to so many are a person's message, which nobody lets wait: it has at most 7 clauses, each with its gloss."""


class EmbedderFailed(TierbotError):
    """For /status: one sentence that says why there are no vectors now and, where there is one, the mend."""


class Embedder(Protocol):
    """Anything that makes vectors. A cancelled call leaves it as it was."""

    @property
    def name(self) -> str:
        """Stored vectors are kept under it; it changes when the weights do."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text, all zero for a text without a known word; no texts are no rows. Raises
        EmbedderFailed."""

    def at_once(self, texts: Sequence[str]) -> Floats | None:
        """The same, in the calling thread; None where they have to be waited for."""

    async def close(self) -> None:
        """Give everything back. Afterwards `embed` raises EmbedderFailed."""

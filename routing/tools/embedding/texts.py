"""Texts on their way to a model of others: clean, and without those that say nothing."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from routing.text import storable

FEW_TEXTS = 16
"""Up to so many are a person's message, which nobody lets wait: it has at most 7 clauses, each with its gloss."""


if TYPE_CHECKING:
    from routing.types.vectors import Floats

_ROWS = "routing.tools.embedding.rows"
_PROBE = "a"
"""Asked for where every text is blank: somebody has to say how wide a row is."""


async def answered(texts: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[Floats]]) -> Floats:
    """The rows of `ask`, and zero for blank texts, which many providers refuse."""
    await load_rows()
    from routing.tools.embedding.rows import joined, placed

    clean = [storable(text) for text in texts]
    spoken = [at for at, text in enumerate(clean) if text.strip()]
    asked = [clean[at] for at in spoken] or [_PROBE][: len(texts)]
    found = await ask(asked) if asked else joined([])
    return placed(found[: len(spoken)], spoken, len(texts))


async def load_rows() -> None:
    """Import numpy in a thread, which takes 0.1 s the first time."""
    if _ROWS not in sys.modules:
        await asyncio.to_thread(importlib.import_module, _ROWS)

"""Prepares texts for external embedding models."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable, Sequence

from routing.text import storable
from routing.types.vectors import Floats

FEW_TEXTS = 16
"""Up to this many texts are a person's message, which must not wait: at most 7 clauses with a gloss each."""

_ROWS = "routing.tools.embedding.rows"
_PROBE = "a"
"""Embedded if all texts are blank, to get the width of a row."""


async def answered(texts: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[Floats]]) -> Floats:
    """The rows from `ask`; zero rows for blank texts, which many providers reject."""
    await load_rows()
    from routing.tools.embedding.rows import joined, placed

    clean = [storable(text) for text in texts]
    spoken = [at for at, text in enumerate(clean) if text.strip()]
    asked = [clean[at] for at in spoken] or [_PROBE][: len(texts)]
    found = await ask(asked) if asked else joined([])
    return placed(found[: len(spoken)], spoken, len(texts))


async def load_rows() -> None:
    """Import numpy in a thread: 0.1 s the first time."""
    if _ROWS not in sys.modules:
        await asyncio.to_thread(importlib.import_module, _ROWS)

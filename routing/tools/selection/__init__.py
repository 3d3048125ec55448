"""Selects the tools that a message is about: keywords first, embeddings second."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Before numpy is imported: its second thread makes a matrix product ten times slower when another core is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from routing.tools.selection.encoder import FOLDER, StaticEncoder
from routing.tools.selection.entries import NO_TOOL, entries
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache, fingerprint
from routing.tools.selection.ranker import EncodingRanker, Ranker


def build_selector(
    catalog: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]], cache: Path | None = None
) -> EncodingRanker:
    """A ranker for a catalogue of toolkits or tools and example messages for each; the key `__none__` holds messages
    that need no tool. The index is stored in the file `cache` for the next start."""
    given, negatives = entries(catalog, examples), examples.get(NO_TOOL, ())
    source = fingerprint(given, negatives, sorted(FOLDER.glob("*.*"))) if cache else ""
    index = IndexCache.load(cache, source) if cache else IndexCache()
    ranker = Ranker(given, negatives, Glossary.load(), Fusion.load(), cache=index)
    ready = EncodingRanker(ranker, StaticEncoder.load(), index)
    if cache and index.grew:
        index.save(cache, source)
    return ready

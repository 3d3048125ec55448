"""Which tools a model sees: keyword first, embedding second, shaped to the model's size."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Before numpy is loaded: its second thread makes a product of matrices ten times slower where another core is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from routing.tools.selection.encoder import FOLDER, StaticEncoder
from routing.tools.selection.entries import NEITHER, entries
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index import Index, load, made_of
from routing.tools.selection.selector import EncodingSelector, Selector


def build_selector(
    catalog: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]], cache: Path | None = None
) -> EncodingSelector:
    """For a catalogue of toolkits or tools and what people say for each; under `__none__` stands what needs no tool.
    What is slow to make is kept in the file `cache`, for the next time with the same texts."""
    given, negatives = entries(catalog, examples), examples.get(NEITHER, ())
    inputs = made_of(given, negatives, sorted(FOLDER.glob("*.*"))) if cache else ""
    index = load(cache, inputs) if cache else Index()
    selector = Selector(given, negatives, Glossary.load(), Fusion.load(), index=index)
    ready = EncodingSelector(selector, StaticEncoder.load(), index)
    if cache and index.grew:
        index.save(cache, inputs)
    return ready

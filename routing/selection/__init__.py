"""Which tools a model sees: keyword first, embedding second, shaped to the model's size."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

# Before numpy is loaded: its second thread makes a product of matrices ten times slower where another core is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from routing.selection.encoder import StaticEncoder
from routing.selection.entries import NEITHER, entries
from routing.selection.fusion import Fusion
from routing.selection.glossary import Glossary
from routing.selection.selector import EncodingSelector, Selector


def build_selector(catalog: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> EncodingSelector:
    """For a catalogue of toolkits or tools and what people say for each; under `__none__` stands what needs no tool."""
    negatives = examples.get(NEITHER, ())
    selector = Selector(entries(catalog, examples), negatives, Glossary.load(), Fusion.load())
    return EncodingSelector(selector, StaticEncoder.load())

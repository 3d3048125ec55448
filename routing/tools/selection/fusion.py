"""All evidence in one number an entry: the logarithm of how much likelier the entry is than none at all.

A linear model over absolute features, learned as one choice among all entries and none (`benchmarks.training.fusion`);
one set of weights for words alone and one for words and vectors. No catalogue has weights of its own, but a feature
counts differently where there are examples, and in a long question: what an example shares with it says more than what
a description does, and many words are shared with many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from routing.tools.selection.features import DENSE, LEXICAL, QUESTION
from routing.types.vectors import Floats

WEIGHTS = Path(__file__).parent / "fusion.json"
NO_EXAMPLES, LENGTH = QUESTION.index("no examples"), QUESTION.index("words")
USUAL = 2.0
"""The logarithm of how many words a question has, about."""


def _nothing() -> Floats:
    return np.zeros(1, np.float32)


@dataclass(frozen=True, slots=True)
class Weights:
    """One for each feature of an entry, one for each of the question (for choosing none), and a constant. To those of
    an entry `told` is added where there are examples, and `longer` for every e-fold of words beyond the usual."""

    entry: Floats
    none: Floats
    constant: float
    told: Floats = field(default_factory=_nothing)
    longer: Floats = field(default_factory=_nothing)

    def odds(self, features: Floats, question: Floats) -> Floats:
        """Natural logarithms, one for each entry; above 0 it is likelier than none."""
        told, longer = circumstances(question)
        entry = np.asarray(self.entry + told * self.told + longer * self.longer, np.float32)
        return features @ entry - float(question @ self.none) - self.constant


def circumstances(question: Floats) -> tuple[float, float]:
    """Whether there are examples, and how much longer than usual the question is."""
    return 1 - float(question[NO_EXAMPLES]), float(question[LENGTH]) - USUAL


@dataclass(frozen=True, slots=True)
class Fusion:
    """Reads and applies the weights."""

    words: Weights
    full: Weights

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Self:
        """Read the weights; a feature without one is a KeyError."""
        stored = json.loads(path.read_text("utf-8"))
        return cls(_weights(stored["words"], LEXICAL), _weights(stored["full"], (*LEXICAL, *DENSE)))


def _weights(stored: Mapping[str, Any], features: tuple[str, ...]) -> Weights:
    def read(part: str, names: tuple[str, ...]) -> Floats:
        return np.array([stored[part][name] for name in names], np.float32)

    return Weights(
        entry=read("entry", features),
        none=read("none", QUESTION),
        constant=float(stored["constant"]),
        told=read("told", features),
        longer=read("longer", features),
    )

"""All evidence in one number an entry: the logarithm of how much likelier the entry is than none at all.

A linear model over absolute features, learned as one choice among all entries and none (`benchmarks.training.fusion`);
one set of weights for words alone and one for words and vectors. No catalogue has weights of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from routing.selection.evidence import DENSE, LEXICAL, QUESTION
from routing.selection.lexical import Floats

WEIGHTS = Path(__file__).parent / "fusion.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """One for each feature of an entry, one for each of the question (for choosing none), and a constant."""

    entry: Floats
    none: Floats
    constant: float

    def odds(self, features: Floats, question: Floats) -> Floats:
        """Natural logarithms, one for each entry; above 0 it is likelier than none."""
        return features @ self.entry - float(question @ self.none) - self.constant


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
    return Weights(
        entry=np.array([stored["entry"][name] for name in features], np.float32),
        none=np.array([stored["none"][name] for name in QUESTION], np.float32),
        constant=float(stored["constant"]),
    )

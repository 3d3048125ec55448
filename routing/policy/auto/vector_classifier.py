"""A linear classifier over the vector of a message, for an encoder that knows more languages than the words do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp
from operator import mul
from pathlib import Path
from typing import Self

from routing.policy.auto.classifier import Prediction
from routing.types.tiers import TIERS

FILE = Path(__file__).with_name("vector_classifier.json")


class VectorClassifier:
    """384 weights for each tier, made by `python -m benchmarks.training.auto_tier_vectors`."""

    def __init__(self, encoder: str, weights: Sequence[Sequence[float]], biases: Sequence[float]) -> None:
        """`weights` has a row per tier; `encoder` is the name of the encoder whose vectors they are for. Raises
        ValueError for weights of another shape."""
        if len(weights) != len(TIERS) or len(biases) != len(TIERS) or len({len(row) for row in weights}) != 1:
            raise ValueError("made for another form; run python -m benchmarks.training.auto_tier_vectors")
        self.encoder = encoder
        self.weights = weights
        self._biases = biases

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Raises OSError if the file can't be read, ValueError for weights of another shape."""
        stored = json.loads(file.read_text("ascii"))
        scale = stored["scale"]
        return cls(stored["encoder"], [[scale * each for each in row] for row in stored["weights"]], stored["biases"])

    def predict(self, vector: Sequence[float]) -> Prediction:
        """The prediction for a vector of length 1. Raises ValueError for another width. Takes 0.1 ms."""
        if len(vector) != len(self.weights[0]):
            raise ValueError(f"a vector of {len(vector)} instead of {len(self.weights[0])} numbers")
        scores = [sum(map(mul, row, vector)) + bias for row, bias in zip(self.weights, self._biases, strict=True)]
        exponentials = [exp(score - max(scores)) for score in scores]
        return Prediction({tier: part / sum(exponentials) for tier, part in zip(TIERS, exponentials, strict=True)})

"""The vectors before training: English ones from the teacher, others from the English texts beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
FREQUENT = 1e-3
"""Words much more frequent than this get a low initial weight (smooth inverse frequency; Zipf's law from the rank)."""


def principal(vectors: Rows, dimensions: int) -> tuple[Rows, Rows]:
    """The mean and the principal directions."""
    mean = vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(vectors - mean, full_matrices=False)
    return mean, directions[:dimensions].T


def projected(vectors: Rows, mean: Rows, directions: Rows) -> Rows:
    """Rows in fewer dimensions, of length 1."""
    rows = (vectors - mean) @ directions
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return np.asarray(rows / lengths, dtype=np.float32)


def english(vectors: Rows, mean: Rows, directions: Rows) -> Rows:
    """One row per word, in order of frequency; frequent words are scaled down."""
    frequency = 1 / np.arange(2, len(vectors) + 2)
    frequency /= frequency.sum()
    weight = FREQUENT / (FREQUENT + frequency)
    return (projected(vectors, mean, directions) * weight[:, None]).astype(np.float32)


def foreign(
    size: int, meanings: Sequence[Rows], foreign_wordings: Sequence[Sequence[Sequence[int]]], rng: np.random.Generator
) -> Rows:
    """One row per token: the mean of the meanings whose wordings contain it; noise if there are none.

    A token that occurs everywhere (an article, an ending) averages to almost nothing.
    """
    dimensions = len(meanings[0])
    total = np.zeros((size, dimensions), np.float32)
    count = np.zeros(size, np.float32)
    for meaning, wordings in zip(meanings, foreign_wordings, strict=True):
        for tokens in wordings:
            for token in set(tokens):
                total[token] += meaning / len(tokens)
                count[token] += 1 / len(tokens)
    noise = rng.normal(0, 0.3 / np.sqrt(dimensions), (size, dimensions)).astype(np.float32)
    return np.where(count[:, None] > 0, total / (count[:, None] + 0.5), noise).astype(np.float32)

"""Trains the classifier of `/tier auto`: `python -m benchmarks.training.auto_tier`.

The rows are those of `auto_tier_rows`. Never used: the half `unused` of the frozen set, the later, the fresh and the
held-out set. The model is a softmax over tiers, where any accepted tier is right, trained with Adam; random dropout
keeps single words from deciding alone. Rows are weighted so that each tier has its share of `SHARES`. The same seed
gives the same file.
"""

from __future__ import annotations

import argparse
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from benchmarks.auto_tier import Row
from benchmarks.training.auto_tier_rows import ASKED, FRAMED, MADE, SENTENCE, WRITTEN, training_rows
from routing.policy.auto.classifier import (
    BUCKETS,
    DENSE_FEATURES,
    FILE,
    LENGTH_EXPONENT,
    RAISED_TIERS,
    buckets,
    dense_features,
)
from routing.policy.auto.phrases import Phrases
from routing.policy.auto.preprocessing import preprocess
from routing.policy.auto.scoring import score
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

SHARES: Mapping[Tier, float] = {"balanced": 0.58, "smart": 0.17, "coding": 0.145, "deep": 0.105}
"""Share of each tier in the sum of the rows' weights."""
WEIGHTS: Mapping[str, float] = {MADE: 0.5, SENTENCE: 2.0, WRITTEN: 3.0, FRAMED: 1.5, ASKED: 0.5}
"""Weights by kind of row, before the shares are applied; `TUNING_WEIGHT` for the half for tuning."""
TUNING_WEIGHT = 1.5
EPOCHS, BATCH, LEARNING_RATE, RIDGE = 15, 512, 0.02, 3e-5
DROPOUT, DENSE_DROPOUT = 0.5, 0.15
"""Dropout of a message's buckets, and of its dense features."""
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's parameters."""
SMALLEST, STEPS = 0.04, 31
"""Share of a tier's largest weight below which weights become 0, and the steps of the rest; both save space."""

Array = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The features of all rows: the buckets of row `i` are `buckets[starts[i]:starts[i + 1]]`. `labels` has a column
    for each tier: 1 where the tier is accepted."""

    buckets: Ids
    starts: Ids
    dense_features: Array
    labels: Array
    weights: Array


def training_set(rows: Sequence[Row], phrases: Phrases) -> TrainingSet:
    found, dense = [], []
    for row in rows:
        message = preprocess(row.text)
        hits = phrases.find(message)
        found.append(np.array(sorted(buckets(message)), np.int64))
        dense.append(dense_features(message, hits, score(message, hits)))
    labels, weights = labels_and_weights(rows)
    return TrainingSet(
        np.concatenate(found),
        np.concatenate([[0], np.cumsum([len(each) for each in found])]).astype(np.int64),
        np.array(dense, np.float32),
        labels,
        weights,
    )


def labels_and_weights(rows: Sequence[Row]) -> tuple[Array, Array]:
    """The labels (rows x tiers), 1 where a tier is accepted, and the weights of the rows, which give each tier its
    share."""
    labels = np.array([[tier in row.accepted for tier in TIERS] for row in rows], np.float32)
    weights = np.array([WEIGHTS.get(row.kind, TUNING_WEIGHT) for row in rows], np.float32)
    even = labels / labels.sum(1, keepdims=True)
    shares = (even * weights[:, None]).sum(0)
    factors = np.array([SHARES[tier] for tier in TIERS], np.float32) / np.maximum(shares / shares.sum(), EPSILON)
    weights *= (even * factors).sum(1)
    return labels, (weights / weights.mean()).astype(np.float32)


def train(given: TrainingSet, seed: int = 0, epochs: int = EPOCHS) -> tuple[Array, Array]:
    """The weights of the buckets and of the dense features."""
    rng = np.random.default_rng(seed)
    theta = np.zeros((BUCKETS + DENSE_FEATURES, len(TIERS)), np.float32)
    adam(theta, lambda batch: _gradient(theta, given, batch, rng) + RIDGE * theta, len(given.weights), epochs, rng)
    return theta[:BUCKETS], theta[BUCKETS:]


def adam(theta: Array, gradient_of: Callable[[Ids], Array], count: int, epochs: int, rng: np.random.Generator) -> None:
    """Improve `theta` in place with Adam. `gradient_of` gets the numbers of a batch of the `count` rows."""
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    step = 0
    for epoch in range(epochs):
        order = rng.permutation(count)
        for start in range(0, count, BATCH):
            gradient = gradient_of(order[start : start + BATCH])
            step += 1
            first += (1 - BETA1) * (gradient - first)
            second += (1 - BETA2) * (gradient * gradient - second)
            size = LEARNING_RATE * (1 - epoch / epochs) / (1 - BETA1**step)
            theta -= size * first / (np.sqrt(second / (1 - BETA2**step)) + EPSILON)


def _gradient(theta: Array, given: TrainingSet, batch: Ids, rng: np.random.Generator) -> Array:
    """The gradient of the mean negative log-likelihood of the accepted tiers."""
    sizes = given.starts[batch + 1] - given.starts[batch]
    rows = np.repeat(np.arange(len(batch)), sizes)
    places = np.arange(sizes.sum()) + np.repeat(given.starts[batch] - (np.cumsum(sizes) - sizes), sizes)
    kept = rng.random(len(places)) >= DROPOUT
    rows, ids = rows[kept], given.buckets[places[kept]]
    share = (np.maximum(np.bincount(rows, minlength=len(batch)), 1) ** -LENGTH_EXPONENT).astype(np.float32)[rows]
    dense = given.dense_features[batch]
    dense[:, 1:] *= rng.random((len(batch), DENSE_FEATURES - 1)) >= DENSE_DROPOUT
    scores = dense @ theta[BUCKETS:]
    scores += _summed(theta[ids] * share[:, None], rows, len(batch))
    error = score_gradient(scores, given.labels[batch], given.weights[batch])
    gradient = np.empty_like(theta)
    gradient[:BUCKETS] = _summed(error[rows] * share[:, None], ids, BUCKETS)
    gradient[BUCKETS:] = dense.T @ error
    return gradient


def score_gradient(scores: Array, labels: Array, weights: Array) -> Array:
    """The gradient of the mean negative log-likelihood of the accepted tiers, by the scores (both rows x tiers)."""
    parts = np.exp(scores - scores.max(1, keepdims=True))
    likely = parts / parts.sum(1, keepdims=True)
    wanted = likely * labels
    wanted /= np.maximum(wanted.sum(1, keepdims=True), 1e-12)
    error: Array = (likely - wanted) * weights[:, None] / len(scores)
    return error


def _summed(values: Array, places: Ids, length: int) -> Array:
    """The sums of the rows of `values` that have the same place."""
    columns = [np.bincount(places, values[:, column], length) for column in range(values.shape[1])]
    return np.stack(columns, 1).astype(np.float32)


def weights(words: Array, dense: Array) -> tuple[bytes, list[float], list[list[float]]]:
    """The format of `LinearClassifier`: `STEPS` steps up to the largest weight of each tier."""
    raised = words[:, [TIERS.index(tier) for tier in RAISED_TIERS]] - words[:, [TIERS.index(DEFAULT_TIER)]]
    scale = np.maximum(np.abs(raised).max(0), 1e-6)
    shares = np.where(np.abs(raised) < SMALLEST * scale, 0, raised / scale)
    return np.round(shares * STEPS).astype(np.int8).tobytes(), (scale / STEPS).tolist(), np.round(dense, 4).tolist()


def write(words: Array, dense: Array, file: Path = FILE) -> None:
    packed, scale, rows = weights(words, dense)
    kept = {"words": b64encode(compress(packed, 9)).decode(), "scale": scale, "traits": rows}
    file.write_text(json.dumps(kept) + "\n", "ascii")


def main() -> None:
    """Train and write the weights."""
    parser = argparse.ArgumentParser("benchmarks.training.auto_tier", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    rows = list(training_rows(given.seed))
    write(*train(training_set(rows, Phrases.load()), given.seed), given.out)
    print(f"{len(rows)} rows; {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

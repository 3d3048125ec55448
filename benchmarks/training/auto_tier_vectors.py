"""Trains the vector classifier of `/tier auto`: `python -m benchmarks.training.auto_tier_vectors`.

It learns from a sample of the rows of `auto_tier_rows`, as vectors of `EMBEDDINGS=e5`, which needs `make embeddings`.
Like `benchmarks.training.auto_tier`, it uses no measured row. A softmax over tiers, where any accepted tier is
right, trained with Adam. The same seed gives the same file. Takes ten minutes, nearly all of it for the vectors.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.auto_tier import Row
from benchmarks.training.auto_tier import Array, Ids, adam, labels_and_weights, score_gradient
from benchmarks.training.auto_tier_rows import ASKED, FRAMED, MADE, training_rows
from routing.policy.auto.vector_classifier import FILE
from routing.tools.embedding.builder import e5_name
from routing.tools.embedding.e5 import E5
from routing.tools.embedding.e5_weights import weights_file
from routing.tools.embedding.rows import unit
from routing.tools.selector import MAX_CHARACTERS
from routing.types.tiers import TIERS

MAX_ROWS: Mapping[str, int] = {FRAMED: 4_000, MADE: 2_000, ASKED: 1_000}
"""Maximum number of rows by kind; more of these made the result no better."""
EPOCHS, RIDGE = 30, 5e-3
SCALE = 20.0
"""Scales the numbers of a vector, which are about 1/20, to about 1, for Adam's step size."""
TEXTS_PER_BATCH = 8
STEPS = 127
"""Steps up to the largest weight."""


def sample(rows: Iterable[Row], seed: int) -> list[Row]:
    """At most `MAX_ROWS` random rows of each kind."""
    by_kind: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    rng = random.Random(seed)
    return [
        row
        for kind, each in by_kind.items()
        for row in (rng.sample(each, MAX_ROWS[kind]) if len(each) > MAX_ROWS.get(kind, len(each)) else each)
    ]


def vectors(texts: Sequence[str], encoder: E5) -> Array:
    """Vectors as in the bot (texts x dimensions): centred, of length 1. Texts of similar length share a batch."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    found = np.zeros((len(texts), encoder.width), np.float32)
    for start in range(0, len(order), TEXTS_PER_BATCH):
        places = order[start : start + TEXTS_PER_BATCH]
        found[places] = encoder.encode([texts[at][:MAX_CHARACTERS] for at in places])
    return unit(found, len(texts))


def train(found: Array, labels: Array, weights: Array, seed: int = 0) -> tuple[Array, Array]:
    """The weights (tiers x dimensions) and the biases (tiers)."""
    rng = np.random.default_rng(seed)
    features = np.concatenate([found * SCALE, np.ones((len(found), 1), np.float32)], 1)
    theta = np.zeros((features.shape[1], len(TIERS)), np.float32)
    decay = np.full((len(theta), 1), RIDGE, np.float32)
    decay[-1] = 0

    def gradient_of(batch: Ids) -> Array:
        errors = score_gradient(features[batch] @ theta, labels[batch], weights[batch])
        gradient: Array = features[batch].T @ errors + decay * theta
        return gradient

    adam(theta, gradient_of, len(found), EPOCHS, rng)
    return theta[:-1].T * SCALE, theta[-1]


def write(weights: Array, biases: Array, encoder: str, file: Path = FILE) -> None:
    """The format of `VectorClassifier`."""
    scale = float(np.abs(weights).max()) / STEPS
    kept = {
        "encoder": encoder,
        "scale": scale,
        "weights": np.round(weights / scale).astype(int).tolist(),
        "biases": np.round(biases, 4).tolist(),
    }
    file.write_text(json.dumps(kept) + "\n", "ascii")


def main() -> None:
    """Train and write the weights."""
    parser = argparse.ArgumentParser("benchmarks.training.auto_tier_vectors", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    rows = sample(training_rows(given.seed), given.seed)
    found = vectors([row.text for row in rows], E5.load(weights_file()))
    write(*train(found, *labels_and_weights(rows), given.seed), e5_name(), given.out)
    print(f"{len(rows)} rows; {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

"""Trains the classifier of `/tier auto`: `python -m benchmarks.training.auto_tier`. Takes about a minute.

Rows are generated from `sayings/` (one file per language) with seed 0, and the half `tuning` of the frozen set is
added. Never used: its half `unused`, the later set and the fresh set. The model is a softmax over tiers, where any
accepted tier is right, trained with Adam; random dropout keeps single words from deciding alone. The same seed gives
the same file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from benchmarks.auto_tier import FRESH, LATER, TUNING, UNUSED, Row, read
from routing.policy.auto.classifier import BUCKETS, DENSE_FEATURES, FILE, buckets, dense_features
from routing.policy.auto.phrases import Phrases
from routing.policy.auto.preprocessing import fold, preprocess, runs, split
from routing.policy.auto.scoring import score
from routing.types.tiers import TIERS, Tier

SAYINGS = Path(__file__).parent / "sayings"
ROWS_PER_LANGUAGE: Mapping[tuple[Tier, ...], int] = {
    ("balanced",): 120,
    ("smart",): 120,
    ("smart", "deep"): 12,
    ("coding",): 80,
    ("deep",): 45,
}
"""Number of generated rows per language, by accepted tiers."""
SENTENCE, SENTENCE_WEIGHT = "sentence", 4.0
"""A complete sentence, and its weight compared with one filled in from a template."""
WORDS_ALIKE, SIGNS_ALIKE = 5, 9
"""Words, or characters of text without spaces: a training row that shares such a run with a measured message is
dropped."""
EPOCHS, BATCH, RATE, RIDGE = 40, 256, 0.02, 5e-5
DROPOUT = 0.3
"""Dropout of a message's features."""
DENSE_DROPOUT = 0.15
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's parameters."""

Array = NDArray[np.float32]
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Lesson:
    """The features of a message, and the accepted tiers."""

    buckets: NDArray[np.int64]
    dense_features: Array
    right: Array
    weight: float


def read_sayings(file: Path) -> tuple[dict[str, list[str]], dict[tuple[Tier, ...], list[str]]]:
    """The lists and the sentences of one language. Raises ValueError for an unknown tier or list."""
    lists: defaultdict[str, list[str]] = defaultdict(list)
    sentences: defaultdict[tuple[Tier, ...], list[str]] = defaultdict(list)
    items: list[str] = []
    for line in filter(None, file.read_text("utf-8").splitlines()):
        sign, name = line[0], line[2:]
        if sign == "=":
            items = lists[name]
        elif sign == ">":
            items = sentences[_tiers(name, file)]
        else:
            items.extend(line.split(" | "))
    for sentence in (each for group in sentences.values() for each in group):
        if unknown := {*_SLOT.findall(sentence)} - {*lists}:
            raise ValueError(f"{file.name}: no list {unknown} for {sentence!r}")
    return dict(lists), dict(sentences)


def _tiers(names: str, file: Path) -> tuple[Tier, ...]:
    found = tuple(tier for tier in TIERS if tier in names.split())
    if len(found) != len(names.split()):
        raise ValueError(f"{file.name}: {names!r} are no tiers")
    return found


def generate(seed: int = 0) -> Iterator[Row]:
    """Rows of every language: each sentence in turn, its slots filled at random, without duplicates."""
    for file in sorted(SAYINGS.glob("*.txt")):
        rng = random.Random(f"{seed} {file.stem}")
        lists, sentences = read_sayings(file)
        for accepted, templates in sentences.items():
            shuffled = rng.sample(templates, len(templates))
            seen: set[str] = set()
            for turn in range(4 * ROWS_PER_LANGUAGE[accepted]):
                sentence = shuffled[turn % len(templates)]
                text = _filled(sentence, lists, rng)
                if text not in seen and len(seen) < ROWS_PER_LANGUAGE[accepted]:
                    seen.add(text)
                    yield Row(_written(text, rng), accepted, file.stem, SENTENCE if text == sentence else "made")


def _filled(sentence: str, lists: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    return _SLOT.sub(lambda slot: rng.choice(lists[slot[1]]), sentence)


def _written(text: str, rng: random.Random) -> str:
    """Some people write without capitals or full stops."""
    chance = rng.random()
    if chance < 0.2:
        return text.rstrip(".?!。？").lower()
    return text[:1].upper() + text[1:] if chance < 0.6 else text


def wordings(text: str) -> set[str]:
    """All runs of five words, and of nine characters where there are no spaces."""
    folded = fold(text)
    words = split(folded)
    found = {" ".join(words[start : start + WORDS_ALIKE]) for start in range(len(words) - WORDS_ALIKE + 1)}
    for run in runs(folded):
        found |= {run[start : start + SIGNS_ALIKE] for start in range(len(run) - SIGNS_ALIKE + 1)}
    return found


def training_rows(seed: int = 0) -> Iterator[Row]:
    """The generated rows, except those that share wording with a measured message, and the half for tuning."""
    measured = [*(row for row in read() if row.half == UNUSED), *read(LATER), *read(FRESH)]
    taken = {wording for row in measured for wording in wordings(row.text)}
    yield from (row for row in generate(seed) if not taken & wordings(row.text))
    yield from (row for row in read() if row.half == TUNING and not row.previous and not row.pictures)


def lesson(row: Row, phrases: Phrases) -> Lesson:
    message = preprocess(row.text)
    found = score(message, phrases.find(message))
    right = np.array([tier in row.accepted for tier in TIERS], np.float32)
    parts = np.array(sorted(buckets(message)), np.int64)
    weight = SENTENCE_WEIGHT if row.kind == SENTENCE else 1.0
    return Lesson(parts, np.array(dense_features(message, found), np.float32), right, weight)


def learn(lessons: Sequence[Lesson], seed: int = 0, epochs: int = EPOCHS) -> tuple[Array, Array]:
    """The weights of the hashed features and of the dense ones."""
    rng = np.random.default_rng(seed)
    theta = np.zeros((BUCKETS + DENSE_FEATURES, len(TIERS)), np.float32)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    step = 0
    for epoch in range(epochs):
        order = rng.permutation(len(lessons))
        for start in range(0, len(order), BATCH):
            slope = _slope(theta, [lessons[each] for each in order[start : start + BATCH]], rng) + RIDGE * theta
            step += 1
            first += (1 - BETA1) * (slope - first)
            second += (1 - BETA2) * (slope * slope - second)
            size = RATE * (1 - epoch / epochs) / (1 - BETA1**step)
            theta -= size * first / (np.sqrt(second / (1 - BETA2**step)) + EPSILON)
    return theta[:BUCKETS], theta[BUCKETS:]


def _slope(theta: Array, batch: Sequence[Lesson], rng: np.random.Generator) -> Array:
    """The gradient of the mean negative log-likelihood of the accepted tiers."""
    kept = [each.buckets[rng.random(len(each.buckets)) >= DROPOUT] for each in batch]
    sizes = np.array([len(each) for each in kept])
    rows, ids = np.repeat(np.arange(len(batch)), sizes), np.concatenate(kept)
    share = (1 / np.sqrt(np.maximum(sizes, 1))).astype(np.float32)[rows]
    batch_dense = np.stack([each.dense_features for each in batch])
    batch_dense[:, 1:] *= rng.random((len(batch), DENSE_FEATURES - 1)) >= DENSE_DROPOUT
    scores = batch_dense @ theta[BUCKETS:]
    np.add.at(scores, rows, theta[ids] * share[:, None])
    parts = np.exp(scores - scores.max(1, keepdims=True))
    likely = parts / parts.sum(1, keepdims=True)
    wanted = likely * np.stack([each.right for each in batch])
    wanted /= np.maximum(wanted.sum(1, keepdims=True), 1e-12)
    error = (likely - wanted) * np.array([each.weight for each in batch], np.float32)[:, None] / len(batch)
    slope = np.zeros_like(theta)
    np.add.at(slope, ids, error[rows] * share[:, None])
    slope[BUCKETS:] = batch_dense.T @ error
    return slope


def weights(words: Array, dense_features: Array) -> tuple[bytes, list[float], list[list[float]]]:
    """The format of `LinearClassifier`: int8, scaled so that the largest weight of each tier is 127."""
    scale = np.maximum(np.abs(words).max(0), 1e-6) / 127
    return np.round(words / scale).astype(np.int8).tobytes(), scale.tolist(), np.round(dense_features, 4).tolist()


def write(words: Array, dense_features: Array, file: Path = FILE) -> None:
    packed, scale, rows = weights(words, dense_features)
    kept = {"words": b64encode(compress(packed, 9)).decode(), "scale": scale, "traits": rows}
    file.write_text(json.dumps(kept) + "\n", "ascii")


def main() -> None:
    """Train and write the weights."""
    parser = argparse.ArgumentParser("benchmarks.training.auto_tier", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args()
    phrases = Phrases.load()
    lessons = [lesson(row, phrases) for row in training_rows(given.seed)]
    write(*learn(lessons, given.seed), given.out)
    print(f"{len(lessons)} rows; {given.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

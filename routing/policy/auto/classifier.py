"""A linear classifier over the words of a message, in any language.

`python -m benchmarks.training.auto_tier` writes `classifier.json`: a row of weights for each of a fixed number of
buckets, to which words and parts of words are hashed, and one row for each language-independent feature."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log1p, sqrt
from pathlib import Path
from typing import Self
from zlib import crc32, decompress

from routing.policy.auto import features
from routing.policy.auto.preprocessing import Reading, runs
from routing.policy.auto.scoring import Weight
from routing.types.tiers import TIERS, Tier

FILE = Path(__file__).with_name("classifier.json")
PLACES = 1 << 14
FIRST_WORDS, LAST_WORDS, CHARACTERS = 40, 12, 120
"""Limits of what is read; more text doesn't improve the result."""
BEGINNINGS = (4, 6)
"""Lengths of prefixes, in letters, for words with many endings."""
PIECE = 4
TRAITS = 16


@dataclass(frozen=True, slots=True)
class Prediction:
    """The probability of each tier; they add up to 1."""

    shares: Mapping[Tier, float]

    @property
    def tier(self) -> Tier:
        return max(self.shares, key=self.shares.__getitem__)


class LinearClassifier:
    """A linear classifier; its weights take 0.1 MB."""

    def __init__(self, words: bytes, scale: Sequence[float], traits: Sequence[Sequence[float]]) -> None:
        """`words` holds one signed byte per bucket and tier, to be multiplied by `scale`; `traits` one row per feature.
        Raises ValueError for weights of another shape."""
        if len(words) != PLACES * len(TIERS) or [len(row) for row in traits] != [len(TIERS)] * TRAITS:
            raise ValueError("made for another form; run python -m benchmarks.training.auto_tier")
        self._words = memoryview(words).cast("b")
        self._scale = tuple(scale)
        self._traits = tuple(tuple(row) for row in traits)

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Raises OSError if the file can't be read, ValueError for weights of another shape."""
        kept = json.loads(file.read_text("ascii"))
        return cls(decompress(b64decode(kept["words"])), kept["scale"], kept["traits"])

    def predict(self, reading: Reading, weight: Weight) -> Prediction:
        """Takes 0.05 ms for a short message and at most 0.3 ms."""
        found = [place * len(TIERS) for place in places(reading)]
        scores = [0.0] * len(TIERS)
        if found:
            weights = self._words
            share = 1 / sqrt(len(found))
            scores = [
                sum([weights[at + tier] for at in found]) * scale * share for tier, scale in enumerate(self._scale)
            ]
        for value, row in zip(traits(reading, weight), self._traits, strict=True):
            if value:
                scores = [score + value * each for score, each in zip(scores, row, strict=True)]
        most = max(scores)
        parts = [exp(score - most) for score in scores]
        return Prediction({tier: part / sum(parts) for tier, part in zip(TIERS, parts, strict=True)})


def places(reading: Reading) -> set[int]:
    """The buckets of the words and word parts of a message."""
    return {crc32(part.encode("utf-8", "replace")) % PLACES for part in _parts(reading)}


def _parts(reading: Reading) -> Iterator[str]:
    words = reading.words
    if len(words) > FIRST_WORDS + LAST_WORDS:
        words = (*words[:FIRST_WORDS], *words[-LAST_WORDS:])
    for word in words:
        yield word
        if not word.isdecimal():
            yield from _word_parts(word)
    for first, second in pairwise(words):
        yield f"{first} {second}"
    for run in runs(reading.text[:CHARACTERS]):
        yield from _run_parts(run)


def _run_parts(run: str) -> Iterator[str]:
    """The characters of a text in a script without spaces, in ones, twos and threes."""
    for length in (1, 2, 3):
        for start in range(len(run) - length + 1):
            yield run[start : start + length]


def _word_parts(word: str) -> Iterator[str]:
    for length in BEGINNINGS if word < "\uac00" else (2,):
        if len(word) > length:
            yield f"{word[:length]}*"
    if len(word) > PIECE + 1:
        for start in range(1, len(word) - PIECE + 1):
            yield f"~{word[start : start + PIECE]}"


def traits(reading: Reading, weight: Weight) -> tuple[float, ...]:
    """Language-independent features: a constant, length, questions and the scores of the signs."""
    raw = reading.raw
    length = log1p(reading.units)
    return (
        1.0,
        length,
        min(1.0, reading.units / 30),
        float(reading.units <= 6),
        float(reading.questions > 0),
        float(reading.questions > 1),
        float(reading.situation),
        min(4, reading.numbers) / 2,
        min(4, raw.count(",") + raw.count("，") + raw.count("、") + raw.count("،")) / 2,
        min(4.0, weight.code) / 2,
        min(4.0, weight.shown) / 2,
        float(weight.brief),
        max(-2.0, min(4.0, weight.smart)) / 2,
        float(weight.proof),
        float(weight.research),
        min(2, features.formulas(raw)) / 2,
    )

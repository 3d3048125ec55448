"""A linear classifier over the words of a message, in any language.

`python -m benchmarks.training.auto_tier` writes `classifier.json`: a row of weights for each of a fixed number of
buckets, to which words and parts of words are hashed, and one row for each language-independent feature."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log1p
from pathlib import Path
from typing import Self
from zlib import crc32, decompress

from routing.policy.auto import features
from routing.policy.auto.phrases import IDEAS, Hits
from routing.policy.auto.preprocessing import PreparedMessage, runs
from routing.policy.auto.scoring import Scores, count
from routing.types.tiers import DEFAULT_TIER, TIERS, Tier

FILE = Path(__file__).with_name("classifier.json")
BUCKETS = 1 << 16
FIRST_WORDS, LAST_WORDS, CHARACTERS = 40, 12, 120
"""Limits of what is read; more text doesn't improve the result."""
PREFIX_LENGTHS = (4, 6)
"""Lengths of prefixes, in letters, for words with many endings."""
NGRAM_LENGTH = 4
LENGTH_EXPONENT = 0.3
"""A message of n buckets counts n ** -0.3 of each: more than their mean, so that a long message has more evidence."""
MAX_PHRASES = 2
"""Maximum number of phrases of one idea that count."""
DENSE_FEATURES = 16 + len(IDEAS)
WORDS_EXPONENT = 0.5
"""Exponent of the probabilities by words in the product with those by the vector: as good as 0.4 and 0.6 (measured)."""
RAISED_TIERS = tuple(tier for tier in TIERS if tier != DEFAULT_TIER)
"""The tiers that words have weights for: how much more likely each is than the default tier."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The probability of each tier; they add up to 1."""

    probabilities: Mapping[Tier, float]

    @property
    def tier(self) -> Tier:
        return max(self.probabilities, key=self.probabilities.__getitem__)

    @property
    def probability(self) -> float:
        """That of the most probable tier."""
        return self.probabilities[self.tier]

    def combined(self, other: Prediction) -> Prediction:
        """The product of this prediction, by words, and of another, by the vector."""
        joint = {tier: self.probabilities[tier] ** WORDS_EXPONENT * other.probabilities[tier] for tier in TIERS}
        return Prediction({tier: part / sum(joint.values()) for tier, part in joint.items()})


class LinearClassifier:
    """A linear classifier; its weights take 0.2 MB."""

    def __init__(self, words: bytes, scale: Sequence[float], dense_features: Sequence[Sequence[float]]) -> None:
        """`words` holds one signed byte per bucket and raised tier, to be multiplied by `scale`; `dense_features` one
        row per feature, of a weight per tier. Raises ValueError for weights of another shape."""
        shape = [len(row) for row in dense_features]
        if len(words) != BUCKETS * len(RAISED_TIERS) or shape != [len(TIERS)] * DENSE_FEATURES:
            raise ValueError("made for another form; run python -m benchmarks.training.auto_tier")
        self._words = memoryview(words).cast("b")
        self._scale = tuple(scale)
        self._dense = tuple(tuple(row) for row in dense_features)

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Raises OSError if the file can't be read, ValueError for weights of another shape."""
        kept = json.loads(file.read_text("ascii"))
        return cls(decompress(b64decode(kept["words"])), kept["scale"], kept["traits"])

    def predict(self, message: PreparedMessage, hits: Hits, phrase_scores: Scores) -> Prediction:
        """Takes 0.05 ms for a short message and at most 0.3 ms."""
        found = [bucket * len(RAISED_TIERS) for bucket in buckets(message)]
        scores = [0.0] * len(TIERS)
        if found:
            weights = self._words
            norm = len(found) ** -LENGTH_EXPONENT
            for at, (tier, scale) in enumerate(zip(RAISED_TIERS, self._scale, strict=True)):
                scores[TIERS.index(tier)] = sum([weights[bucket + at] for bucket in found]) * scale * norm
        for value, row in zip(dense_features(message, hits, phrase_scores), self._dense, strict=True):
            if value:
                scores = [score + value * each for score, each in zip(scores, row, strict=True)]
        most = max(scores)
        exponentials = [exp(score - most) for score in scores]
        return Prediction({tier: part / sum(exponentials) for tier, part in zip(TIERS, exponentials, strict=True)})


def buckets(message: PreparedMessage) -> set[int]:
    """The buckets of the words and word parts of a message."""
    return {crc32(part.encode("utf-8", "replace")) % BUCKETS for part in _ngrams(message)}


def _ngrams(message: PreparedMessage) -> Iterator[str]:
    words = message.words
    if len(words) > FIRST_WORDS + LAST_WORDS:
        words = (*words[:FIRST_WORDS], *words[-LAST_WORDS:])
    for word in words:
        yield word
        if not word.isdecimal():
            yield from _subwords(word)
    for run in runs(message.text[:CHARACTERS]):
        yield from _character_ngrams(run)


def _character_ngrams(run: str) -> Iterator[str]:
    """The characters of a text in a script without spaces, in ones, twos and threes."""
    for length in (1, 2, 3):
        for start in range(len(run) - length + 1):
            yield run[start : start + length]


def _subwords(word: str) -> Iterator[str]:
    for length in PREFIX_LENGTHS if word < "\uac00" else (2,):
        if len(word) > length:
            yield f"{word[:length]}*"
    if len(word) > NGRAM_LENGTH + 1:
        for start in range(1, len(word) - NGRAM_LENGTH + 1):
            yield f"~{word[start : start + NGRAM_LENGTH]}"


def dense_features(message: PreparedMessage, hits: Hits, scores: Scores) -> tuple[float, ...]:
    """Language-independent features: a constant, length, questions, the phrase scores and the phrases of each idea."""
    raw = message.raw
    length = log1p(message.units)
    return (
        1.0,
        length,
        min(1.0, message.units / 30),
        float(message.units <= 6),
        float(message.questions > 0),
        float(message.questions > 1),
        float(message.situation),
        min(4, message.numbers) / 2,
        min(4, raw.count(",") + raw.count("，") + raw.count("、") + raw.count("،")) / 2,
        min(4.0, scores.code) / 2,
        min(4.0, scores.shown) / 2,
        float(scores.brief),
        max(-2.0, min(4.0, scores.smart)) / 2,
        float(scores.proof),
        float(scores.research),
        min(2, features.formula_kinds(raw)) / 2,
        *(min(MAX_PHRASES, count(hits[idea])) if idea in hits else 0.0 for idea in IDEAS),
    )

"""The words and vectors of a person's facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from routing.memory.stop_words import content_words
from routing.tools.selection.lexical import Postings
from routing.types.memory import Fact
from routing.types.vectors import Floats

Embed: TypeAlias = "Callable[[Sequence[str]], Floats | None]"
"""Vectors of length 1 at once, or None if there are none now."""

MIN_COVERAGE = 0.1
"""A fact is relevant if it has this share of the message's words, weighted by their rarity among the facts."""
MIN_SIMILARITY = 0.28
"""A fact is relevant at this cosine; 1.6 % of the unrelated pairs of a message and a fact reach it (measured, with the
shipped encoder)."""
MIN_NEAR = 0.15
"""Combined score from which a search shows a fact."""
FOLLOW_UP_WORDS = 1
"""Maximum number of content words of a message that follows up on the one before it, such as "And Mia?"."""
EARLIER = 0.7
"""Weight of the message before, for a follow-up."""


@dataclass(frozen=True, slots=True)
class Scores:
    """For each fact: the combined score, and whether it is relevant for the message."""

    combined: Floats
    relevant: NDArray[np.bool_]

    def best(self, limit: int, near: bool) -> list[int]:
        """The relevant facts, best first; with `near` also those that are less so."""
        shown = np.logical_or(self.relevant, self.combined >= MIN_NEAR) if near else self.relevant
        order = np.argsort(-self.combined, kind="stable")
        return [int(at) for at in order if shown[at]][:limit]


@dataclass(frozen=True, slots=True)
class FactIndex:
    """Words, and vectors if the encoder was ready. Used while `facts` is the tuple that the store returns."""

    facts: tuple[Fact, ...]
    words: Postings
    vectors: Floats | None

    @classmethod
    def of(cls, facts: tuple[Fact, ...], embed: Embed | None) -> FactIndex:
        """Takes 40 ms for 1,000 facts."""
        texts = [each.text for each in facts]
        vectors = embed(texts) if embed is not None else None
        return cls(facts, Postings.of(content_words(text) for text in texts), vectors)

    def scores(self, texts: Sequence[str], embed: Embed | None, e5_similarity: Floats | None = None) -> Scores:
        """Scores for a message, and also for the one before it if it is a follow-up. `e5_similarity` holds the cosine
        of the message with each fact by e5, which finds unrelated texts about as similar as the shipped encoder does
        (`benchmarks.recall`); the better similarity counts."""
        tokens = [content_words(text) for text in texts]
        if len(tokens[0]) > FOLLOW_UP_WORDS:
            texts, tokens = texts[:1], tokens[:1]
        weights = np.array([EARLIER**back for back in range(len(texts))], np.float32)[:, None]
        coverage = self.words.match(tokens).coverage * weights
        similarity = np.zeros_like(coverage)
        vectors = embed(texts) if embed is not None and self.vectors is not None else None
        if vectors is not None and self.vectors is not None:
            similarity = vectors @ self.vectors.T * weights
        if e5_similarity is not None:
            similarity[0] = np.maximum(similarity[0], e5_similarity)
        relevant = np.logical_or(coverage >= MIN_COVERAGE, similarity >= MIN_SIMILARITY)
        return Scores((coverage + similarity).max(0), np.any(relevant, axis=0))

    def containing(self, query: str) -> tuple[Fact, ...]:
        """The facts that contain all words of the query but the stop words."""
        wanted = frozenset(content_words(query))
        return tuple(each for each in self.facts if wanted and wanted <= frozenset(content_words(each.text)))


def cosines(vector: Floats, rows: Sequence[Floats | None]) -> Floats:
    """The cosine of a vector with each row; 0 for a missing row, and for one of another model."""
    found = [0.0 if row is None or row.shape != vector.shape else float(vector @ row) for row in rows]
    return np.array(found, np.float32)

"""Compares a message with a person's examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from routing.learning.vectors import unpack
from routing.types.learning import EFFECTS, WORDS, Effect, Example, Learned, Lesson
from routing.types.tiers import Tier
from routing.types.vectors import Floats

NEAR, NEAR_BY_WORDS = 0.40, 0.30
"""Cosine from which a message is near an example about tools: by the shipped encoder, and by hashed words. With six
examples of a tool in English, three are near 61 % of the other messages for it and 0.2 % of those for other toolkits;
by words 25 % and 0.1 %. In 19 other languages, mixed: 46 % and 0.7 % (`python -m benchmarks.learning`)."""
NEAR_TIER, NEAR_TIER_BY_WORDS = 0.50, 0.40
"""The same for examples about tiers, which depend less on the topic: two of three pairs of the messages of
`benchmarks.auto_tier` that are this near have an accepted tier in common, and one of three of all pairs."""

Column = tuple[Effect, str]


@dataclass(frozen=True, slots=True)
class ExampleIndex:
    """The examples made by one encoder. Used while `examples` is the tuple that the store returns. `kept` are those
    that can be compared; `rows` has a row of length 1 for each, `near` the cosine from which it counts; `members` says
    which of the `columns` (effect and subject) it belongs to."""

    examples: tuple[Example, ...]
    encoder: str
    kept: tuple[Example, ...]
    rows: Floats
    near: Floats
    columns: tuple[Column, ...]
    members: Floats

    @classmethod
    def of(cls, examples: tuple[Example, ...], encoder: str) -> ExampleIndex:
        """Takes 3 ms for 1,000 examples."""
        kept = [each for each in examples if each.encoder == encoder and each.vector]
        width = len(kept[-1].vector) if kept else 0
        kept = [each for each in kept if len(each.vector) == width]
        columns = {_column(each.lesson): None for each in kept}
        places = {column: at for at, column in enumerate(columns)}
        members = np.zeros((len(kept), len(columns)), np.float32)
        for row, each in enumerate(kept):
            members[row, places[_column(each.lesson)]] = 1
        rows = np.stack([unpack(each.vector) for each in kept]) if kept else np.zeros((0, 0), np.float32)
        near = np.array([_near(each) for each in kept], np.float32)
        return cls(examples, encoder, tuple(kept), rows, near, tuple(columns), members)

    def about(self, vector: Floats, least: int) -> Learned:
        """What the examples near a message say."""
        if not self.kept or len(vector) != self.rows.shape[1]:
            return Learned(least)
        row = vector / (float(np.linalg.norm(vector)) + 1e-12)
        return self._learned((self.rows @ row >= self.near).astype(np.float32) @ self.members, least)

    def about_each(self, least: int) -> Sequence[tuple[Example, Learned]]:
        """What the examples say about their own messages. Takes 20 ms for 1,000 examples."""
        near = (self.rows @ self.rows.T >= self.near).astype(np.float32)
        return [
            (each, self._learned(counts, least)) for each, counts in zip(self.kept, near @ self.members, strict=True)
        ]

    def _learned(self, counts: Floats, least: int) -> Learned:
        found: Mapping[Effect, dict[str, int]] = {"show": {}, "hide": {}, "choose": {}, "raise": {}}
        for at in np.flatnonzero(counts):
            effect, subject = self.columns[at]
            found[effect][subject] = int(counts[at])
        chosen, disliked = (cast("dict[Tier, int]", found[effect]) for effect in ("choose", "raise"))
        return Learned(least, found["show"], found["hide"], chosen, disliked)


def _column(lesson: Lesson) -> Column:
    return EFFECTS[lesson.signal], lesson.subject


def _near(example: Example) -> float:
    by_words = example.encoder == WORDS
    if EFFECTS[example.lesson.signal] in ("choose", "raise"):
        return NEAR_TIER_BY_WORDS if by_words else NEAR_TIER
    return NEAR_BY_WORDS if by_words else NEAR

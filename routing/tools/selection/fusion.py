"""Combines all features of an entry into log-odds, and decides which entries are shown.

The model is linear over absolute features and was trained as one choice among all entries and none
(`benchmarks.training.fusion`), with one set of weights for words only and one for words and vectors. All catalogues
share the weights. Some features count differently where there are examples: an example shared with the question says
more than a description."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from routing.tools.selection.features import DENSE, LEXICAL, QUESTION
from routing.types.vectors import Floats

WEIGHTS = Path(__file__).parent / "fusion.json"
NO_EXAMPLES = QUESTION.index("no examples")


@dataclass(frozen=True, slots=True)
class Weights:
    """`entry` for the features of an entry, `none` for those of the question (in favour of showing nothing), and a
    constant. `with_examples` is added to `entry` where there are examples."""

    entry: Floats
    none: Floats
    constant: float
    with_examples: Floats = field(default_factory=lambda: np.zeros(1, np.float32))

    def odds(self, features: Floats, question: Floats) -> Floats:
        """Natural log-odds of each entry against none. `features` has shape (entries, features)."""
        entry = np.asarray(self.entry if question[NO_EXAMPLES] else self.entry + self.with_examples, np.float32)
        return features @ entry - float(question @ self.none) - self.constant


@dataclass(frozen=True, slots=True)
class Fusion:
    """Weights for words only, and for words and vectors."""

    words: Weights
    full: Weights

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Self:
        """Read the weights. Raises KeyError if a feature has none."""
        stored = json.loads(path.read_text("utf-8"))
        return cls(_weights(stored["words"], LEXICAL), _weights(stored["full"], (*LEXICAL, *DENSE)))


def _weights(stored: Mapping[str, Any], features: tuple[str, ...]) -> Weights:
    def read(part: str, names: tuple[str, ...]) -> Floats:
        return np.array([stored[part][name] for name in names], np.float32)

    return Weights(
        entry=read("entry", features),
        none=read("none", QUESTION),
        constant=float(stored["constant"]),
        with_examples=read("with examples", features),
    )


FEW = 20
"""Groups up to which the bounds of `Policy.shown` are the same."""


@dataclass(frozen=True, slots=True)
class Policy:
    """When something is shown, and how much. All odds are natural log-odds against none.

    The odds of a clause are those that any group is meant, minus `talk` times the odds of small talk. A clause is
    considered if they reach `gate`, which is lower by `glossed` for a message in another language: a gloss shares fewer
    words with tools. The clauses of a message that fails as a whole must exceed it by `alone`. Shown are groups with at
    least `exp(least) / count ** falling` of the total likelihood, at most `most * count ** growing` of them; but none
    below the log-odds `lowest`, and in any case those above `sure`, because a message may mean several. In catalogues
    of more than FEW groups, where likelihood spreads, these two bounds lie further apart. In very large catalogues the
    best `wide * count ** 2` are shown in any case, because among thousands of neighbours the model is too sure of one.
    `count` is capped at `largest`, the largest catalogue used for tuning. A clause whose words alone reach `certain`
    is not embedded.
    """

    gate: float
    least: float
    falling: float
    most: float
    growing: float
    certain: float
    talk: float = 0.0
    glossed: float = 0.0
    alone: float = 0.0
    wide: float = 0.0
    lowest: float = -np.inf
    sure: float = np.inf
    largest: int = 4_076

    def open(self, odds: Sequence[Floats], small_talk: Sequence[float], glossed: bool = False) -> list[bool]:
        """Whether anything is shown for each clause. The first clause is the whole message."""
        gate = self.gate - self.glossed * glossed
        totals = [any_odds(each) - self.talk * talk for each, talk in zip(odds, small_talk, strict=True)]
        if not totals or totals[0] >= gate or max(totals) >= gate + self.alone:
            return [each >= gate for each in totals]
        return [False] * len(totals)

    def most_shown(self, count: int, part: float = 1.0) -> int:
        """The maximum number of groups that are shown for a clause, of `count`."""
        return max(2, self._always(count, part), int(np.rint(part * self.most * count**self.growing)))

    def _always(self, count: int, part: float) -> int:
        return int(part * self.wide * min(count, self.largest) ** 2)

    def shown(self, odds: Floats, part: float = 1.0) -> Iterator[int]:
        """The places of what is shown, best first. `part` scales the maximum number."""
        count = len(odds)
        if not count:
            return
        always, most = self._always(count, part), self.most_shown(count, part)
        least = any_odds(odds) + self.least - self.falling * float(np.log(count))
        spread = 2 * self.falling * float(np.log(max(1, count / FEW)))
        least = max(min(least, self.sure + spread), self.lowest - spread)
        enough = np.flatnonzero(odds >= min(least, _nth_highest(odds, always)))
        if len(enough) > most:
            enough = enough[odds[enough] >= _nth_highest(odds[enough], most)]
        yield from enough[np.argsort(-odds[enough], kind="stable")[:most]].tolist()


def _nth_highest(odds: Floats, number: int) -> float:
    """The `number`-th highest value; infinite for 0."""
    return float(np.partition(odds, -number)[-number]) if number else np.inf


def any_odds(odds: Floats) -> float:
    """The log-odds that any of them is meant."""
    highest = float(odds.max(initial=-np.inf))
    return highest + float(np.log(np.exp(odds - highest).sum())) if np.isfinite(highest) else highest


POLICY = Policy(
    gate=0.1,
    least=-1.85,
    falling=0.7,
    most=0.72,
    growing=0.54,
    certain=14.0,
    talk=0.95,
    glossed=0.55,
    alone=4.0,
    wide=1e-5,
    lowest=-1.9,
    sure=2.6,
)
"""Tuned on the development sets, each half judged by weights trained on the other."""

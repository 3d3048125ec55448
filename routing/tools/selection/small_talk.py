"""How much a message sounds like talk that wants nothing done: greetings, thanks, questions about the assistant.

A linear model over words and pairs of words, learned from what people said to several assistants
(`benchmarks.training.small_talk`). It knows no catalogue: what it says is one feature of the question, and counts
against all tools alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from routing.tools.selection.words import words

WEIGHTS = Path(__file__).parent / "small_talk.npz"
SAID = Path(__file__).parent / "small_talk.txt"
BUCKETS = 2**16
QUESTION_MARKS = ("?", "？", "؟")
START, END = "^", "$"


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """`weights` of the hashed words and pairs in units of `unit`, and a constant."""

    weights: NDArray[np.int8]
    unit: float
    constant: float

    @classmethod
    @cache
    def load(cls, path: Path = WEIGHTS) -> Self:
        """Read the weights, once."""
        with np.load(path) as stored:
            return cls(stored["weights"], float(stored["unit"]), float(stored["constant"]))

    def odds(self, texts: Iterable[str]) -> float:
        """The logarithm of how much likelier small talk is than a wish, the mean of the texts."""
        return float(np.mean([self._odds(text) for text in texts]))

    def _odds(self, text: str) -> float:
        found = hashed(text)
        said = float(self.weights[found].sum(dtype=np.int64)) * self.unit
        return said / math.sqrt(max(1, len(found))) + self.constant


def small_talk() -> tuple[str, ...]:
    """Lines of our own in twelve languages that want nothing done: learned from, and what the bot compares with."""
    return tuple(filter(None, SAID.read_text("utf-8").splitlines()))


def hashed(text: str) -> NDArray[np.int64]:
    """The places of its words and pairs of words, each once."""
    said = words(text)
    if any(mark in text for mark in QUESTION_MARKS):
        said.append("?")
    row = (START, *said, END)
    pairs = (f"{one} {other}" for one, other in pairwise(row))
    return np.array(sorted({crc32(each.encode()) % BUCKETS for each in (*said, *pairs)}), np.int64)

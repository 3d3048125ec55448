"""Classifies small talk: greetings, thanks, questions about the assistant. Keeps messages that need no tool.

A linear model over hashed words and word pairs, trained on messages to several assistants
(`benchmarks.training.small_talk`). It is independent of the catalogue."""

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
EXAMPLES = Path(__file__).parent / "small_talk.txt"
GENERAL = Path(__file__).parent / "general_questions.txt"
BUCKETS = 2**16
QUESTION_MARKS = ("?", "？", "؟")
START, END = "^", "$"


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """Int8 `weights` of the hashed words and pairs in multiples of `unit`, and a constant."""

    weights: NDArray[np.int8]
    unit: float
    constant: float

    @classmethod
    @cache
    def load(cls, path: Path = WEIGHTS) -> Self:
        with np.load(path) as stored:
            return cls(stored["weights"], float(stored["unit"]), float(stored["constant"]))

    def odds(self, texts: Iterable[str]) -> float:
        """The log-odds of small talk against a request: the mean over the texts."""
        return float(np.mean([self._odds(text) for text in texts]))

    def _odds(self, text: str) -> float:
        found = hashed(text)
        score = float(self.weights[found].sum(dtype=np.int64)) * self.unit
        return score / math.sqrt(max(1, len(found))) + self.constant


def small_talk() -> tuple[str, ...]:
    """Messages in twelve languages that need no tool, for training and as negative examples."""
    return tuple(filter(None, EXAMPLES.read_text("utf-8").splitlines()))


def without_tool() -> tuple[str, ...]:
    """Small talk, and what a model answers by itself: questions of general knowledge, translations, stories, code. The
    latter are no training data, because in other catalogues there are tools for them."""
    return (*small_talk(), *GENERAL.read_text("utf-8").splitlines())


def hashed(text: str) -> NDArray[np.int64]:
    """The distinct buckets of the words and word pairs."""
    tokens = words(text)
    if any(mark in text for mark in QUESTION_MARKS):
        tokens.append("?")
    row = (START, *tokens, END)
    pairs = (f"{one} {other}" for one, other in pairwise(row))
    return np.array(sorted({crc32(each.encode()) % BUCKETS for each in (*tokens, *pairs)}), np.int64)

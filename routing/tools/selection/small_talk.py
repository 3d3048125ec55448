"""Classifies small talk: greetings, thanks, questions about the assistant. Keeps messages that need no tool.

A linear model over hashed words and word pairs, and a small network over the shipped encoder's vectors, which knows
synonyms. Both were trained on messages to several assistants and on glosses (`benchmarks.training.small_talk`). They
are independent of the catalogue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from routing.tools.selection.words import words
from routing.types.vectors import Floats

WEIGHTS = Path(__file__).parent / "small_talk.npz"
EXAMPLES = Path(__file__).parent / "small_talk.txt"
GENERAL = Path(__file__).parent / "general_questions.txt"
BUCKETS = 2**16
QUESTION_MARKS = ("?", "？", "؟")
START, END = "^", "$"


NETWORK_SHARE = 0.3
"""Weight of the network in the log-odds. It errs more often than the words, but elsewhere."""


@dataclass(frozen=True, slots=True)
class Network:
    """One hidden layer of rectified units: `hidden` (vector × units), `bias`, `output` (units) and a constant."""

    hidden: Floats
    bias: Floats
    output: Floats
    constant: float

    def odds(self, vectors: Floats) -> Floats:
        """The log-odds of small talk for each row."""
        found: Floats = np.maximum(vectors @ self.hidden + self.bias, 0) @ self.output + np.float32(self.constant)
        return found


@dataclass(frozen=True, slots=True)
class SmallTalk:
    """Int8 `weights` of the hashed words and pairs in multiples of `unit`, and a constant. The network is for the
    vectors of the shipped encoder."""

    weights: NDArray[np.int8]
    unit: float
    constant: float
    network: Network | None = None

    @classmethod
    @cache
    def load(cls, path: Path = WEIGHTS) -> Self:
        with np.load(path) as stored:
            hidden, bias, output = (stored[name].astype(np.float32) for name in ("hidden", "bias", "output"))
            network = Network(hidden, bias, output, float(stored["network constant"]))
            return cls(stored["weights"], float(stored["unit"]), float(stored["constant"]), network)

    def save(self, path: Path = WEIGHTS) -> None:
        assert self.network is not None
        parts = {name: getattr(self.network, name).astype(np.float16) for name in ("hidden", "bias", "output")}
        parts["network constant"] = np.array(self.network.constant)
        np.savez_compressed(path, weights=self.weights, unit=self.unit, constant=self.constant, **parts)

    def odds(self, text: str, vector: Floats | None = None) -> float:
        """The log-odds of small talk against a request, by words and, if given, the shipped encoder's vector."""
        found = hashed(text)
        score = float(self.weights[found].sum(dtype=np.int64)) * self.unit
        odds = score / math.sqrt(max(1, len(found))) + self.constant
        if vector is None or self.network is None:
            return odds
        return odds + NETWORK_SHARE * (float(self.network.odds(vector)) - odds)


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

"""Scores from a single kind of evidence: words (BM25), or the vectors of an encoder. They have no threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from benchmarks.selectors.minilm import MiniLm
from routing.ports import Encoder
from routing.tools.selection.entries import Entry, entries
from routing.tools.selection.lexical import Postings
from routing.tools.selection.words import words
from routing.types.vectors import Floats

UNLIKE = -1.0


@runtime_checkable
class Scorer(Protocol):
    """`names` are the names of the catalogue's entries, in the order of the scores."""

    @property
    def names(self) -> Sequence[str]: ...

    def scores(self, query: str) -> Floats:
        """One score per entry; higher is better."""
        ...


class Passages:
    """Several passages per entry of a catalogue; the best score counts."""

    def __init__(self, owners: Sequence[str]) -> None:
        self.names = tuple(dict.fromkeys(owners))
        place = {name: at for at, name in enumerate(self.names)}
        self._owners = np.array([place[name] for name in owners])

    def best(self, scores: Floats) -> Floats:
        """The highest score of each entry."""
        found = np.full(len(self.names), UNLIKE, np.float32)
        np.maximum.at(found, self._owners, scores)
        return found


class Bm25:
    """Our BM25 over everything known about a tool (names, descriptions, keywords, parameters, examples), with our
    stemmer and without the glossary."""

    def __init__(self, tools: Sequence[Entry]) -> None:
        self._passages = Passages([tool.group for tool in tools])
        self._postings = Postings.of([words(_whole(tool)) for tool in tools])
        self.names = self._passages.names

    def scores(self, query: str) -> Floats:
        return self._passages.best(self._postings.match([words(query)]).bm25[0])


class Cosine:
    """The best cosine of a message with a description of a tool, of its toolkit, or with an example."""

    def __init__(self, tools: Sequence[Entry], encoder: Encoder) -> None:
        texts = [(tool.group, text) for tool in tools for text in (*tool.texts, *tool.examples)]
        unique = list(dict.fromkeys(texts))
        self._passages = Passages([name for name, _ in unique])
        self._vectors = encoder.encode([text for _, text in unique])
        self._encoder = encoder
        self.names = self._passages.names

    def scores(self, query: str) -> Floats:
        return self._passages.best(self._vectors @ self._encoder.encode([query])[0])


class Gated:
    """Selects the entries with scores above `least`."""

    def __init__(self, scorer: Scorer, least: float) -> None:
        self._scorer = scorer
        self._least = least

    def select(self, query: str) -> list[str]:
        """Names in the catalogue's order."""
        return shown(self._scorer.names, self._scorer.scores(query), self._least)


def shown(names: Sequence[str], scores: Floats, least: float) -> list[str]:
    """The names whose scores are above `least`."""
    return [names[int(at)] for at in np.flatnonzero(scores > least)]


def bm25(catalogue: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> Bm25:
    """BM25 for the rows of a catalogue."""
    return Bm25(entries(catalogue, examples))


def minilm(catalogue: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> Cosine:
    """The same with MiniLM. Raises ImportError if it is not installed."""
    return Cosine(entries(catalogue, examples), MiniLm())


def _whole(tool: Entry) -> str:
    return " ".join((*tool.texts, tool.category, *tool.keywords, tool.parameters, *tool.examples))

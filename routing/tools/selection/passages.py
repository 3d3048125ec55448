"""All texts of a catalogue, and which entry each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from routing.tools.selection.entries import Entry
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index import Index
from routing.tools.selection.lexical import Places
from routing.types.vectors import Floats

MOST_TURNS = 4
"""Where all entries have at least one passage and at most so many, all first ones are compared with all second ones and
so on: in a fifth of the time that it takes to compare run by run."""
RARELY = 0.1
"""Of the entries; so few are taken out alone."""


class Owners:
    """Which entry each passage belongs to. Values of passages are a row, or a row for each of several texts."""

    def __init__(self, owners: Sequence[int], count: int) -> None:
        self.passages = np.asarray(owners, np.int64)
        self.count = count
        order = np.argsort(self.passages, kind="stable")
        ordered = self.passages[order]
        self._starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else order
        self._entries = ordered[self._starts]
        self._order = None if np.array_equal(order, np.arange(len(order))) else order
        self._alone = np.array_equal(self.passages, np.arange(count))
        self._turns = self._in_turns(order, ordered) if 0 < len(self._entries) == count else []

    def _in_turns(self, order: Places, ordered: Places) -> list[tuple[Places | None, Places]]:
        """The first passage of each entry, then the second ones of those that have two; none when some have many."""
        sizes = np.diff(self._starts, append=len(ordered))
        if sizes.max() > MOST_TURNS:
            return []
        first = order[self._starts]
        turns: list[tuple[Places | None, Places]] = [(None, first)]
        for turn in range(1, int(sizes.max())):
            having = np.flatnonzero(sizes > turn)
            theirs = order[self._starts[having] + turn]
            if len(having) > RARELY * self.count:
                everyone = first.copy()
                everyone[having] = theirs
                turns.append((None, everyone))
            else:
                turns.append((having, theirs))
        return turns

    def best(self, values: Floats) -> Floats:
        """The highest value of each entry's passages; 0 for an entry without any."""
        if not self._turns:
            return self._highest(values, 0.0)
        (_, first), *more = self._turns
        found: Floats = values.take(first, -1)
        for entries, passages in more:
            if entries is None:
                np.maximum(found, values.take(passages, -1), out=found)
            else:
                found[..., entries] = np.maximum(found[..., entries], values[..., passages])
        return found

    def any(self, logarithms: Floats) -> Floats:
        """The logarithm of the sum over each entry's passages."""
        if self._alone:
            return logarithms.astype(np.float32)
        highest = self._highest(logarithms, -np.inf)
        parts = np.exp(logarithms - highest[self.passages])
        return (highest + np.log(np.bincount(self.passages, parts, self.count))).astype(np.float32)

    def _highest(self, values: Floats, without: float) -> Floats:
        found = np.full((*values.shape[:-1], self.count), without, np.float32)
        if len(self._entries):
            ordered = values if self._order is None else values.take(self._order, -1)
            found[..., self._entries] = np.maximum.reduceat(ordered, self._starts, -1)
        return found


@dataclass(frozen=True, slots=True)
class Texts:
    """All passages of a catalogue, in the words of their language and glossed in English."""

    described: tuple[str, ...]
    described_by: Owners
    examples: tuple[str, ...]
    examples_by: Owners
    descriptions: tuple[str, ...]
    negatives: tuple[str, ...]

    @classmethod
    def of(
        cls, entries: Sequence[Entry], negatives: Sequence[str], glossary: Glossary, index: Index | None = None
    ) -> Texts:
        """Take the entries apart, or take from `index` what it has; `negatives` are what people say when they want
        nothing done."""
        index = Index() if index is None else index

        def both(texts: Iterable[str], at: int = 0) -> Iterator[tuple[str, int]]:
            return ((each, at) for text in texts for each in dict.fromkeys((text, glossary.gloss(text))))

        def all_of(texts: Callable[[Entry], Iterable[str]]) -> Iterator[tuple[str, int]]:
            return (passage for at, entry in enumerate(entries) for passage in both(texts(entry), at))

        described, described_by = index.passages("described", lambda: all_of(lambda entry: entry.texts))
        examples, examples_by = index.passages("examples", lambda: all_of(lambda entry: entry.examples))
        descriptions = ((glossary.gloss(entry.description), at) for at, entry in enumerate(entries))
        return cls(
            described=described,
            described_by=Owners(described_by, len(entries)),
            examples=examples,
            examples_by=Owners(examples_by, len(entries)),
            descriptions=index.passages("descriptions", lambda: descriptions)[0],
            negatives=index.passages("negatives", lambda: both(negatives))[0],
        )

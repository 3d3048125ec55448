"""All texts of a catalogue, and which entry each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from routing.selection.entries import Entry
from routing.selection.glossary import Glossary
from routing.selection.lexical import Floats


class Owners:
    """Which entry each passage belongs to."""

    def __init__(self, owners: Sequence[int], count: int) -> None:
        order = np.argsort(owners, kind="stable")
        ordered = np.asarray(owners, np.int64)[order]
        self._order = order
        self._starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else order
        self._entries = ordered[self._starts]
        self.passages = np.asarray(owners, np.int64)
        self.count = count

    def best(self, values: Floats) -> Floats:
        """The highest value of each entry's passages; 0 for an entry without any."""
        found = np.zeros(self.count, np.float32)
        if len(self._order):
            found[self._entries] = np.maximum.reduceat(values[self._order], self._starts)
        return found

    def any(self, logarithms: Floats) -> Floats:
        """The logarithm of the sum over each entry's passages."""
        if not self.count:
            return np.zeros(0, np.float32)
        highest = np.full(self.count, -np.inf, np.float32)
        highest[self._entries] = np.maximum.reduceat(logarithms[self._order], self._starts)
        parts = np.exp(logarithms - highest[self.passages])
        return (highest + np.log(np.bincount(self.passages, parts, self.count))).astype(np.float32)


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
    def of(cls, entries: Sequence[Entry], negatives: Sequence[str], glossary: Glossary) -> Texts:
        """Take the entries apart; `negatives` are what people say when they want nothing done."""

        def both(texts: Iterable[str]) -> list[str]:
            return [each for text in texts for each in dict.fromkeys((text, glossary.gloss(text)))]

        described = [(text, at) for at, entry in enumerate(entries) for text in both(entry.texts)]
        examples = [(text, at) for at, entry in enumerate(entries) for text in both(entry.examples)]
        return cls(
            described=tuple(text for text, _ in described),
            described_by=Owners([at for _, at in described], len(entries)),
            examples=tuple(text for text, _ in examples),
            examples_by=Owners([at for _, at in examples], len(entries)),
            descriptions=tuple(glossary.gloss(entry.description) for entry in entries),
            negatives=tuple(both(negatives)),
        )

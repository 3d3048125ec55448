"""Passages by the tokens that they share with a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]

SATURATION, LENGTH = 1.2, 0.6
"""BM25's k1 and b."""


@dataclass(frozen=True, slots=True)
class Matches:
    """For each passage: BM25 and the share of the query's weight that it holds, both in 0…1 of what would be possible,
    and the cosine of the two as weighted bags of tokens."""

    bm25: Floats
    coverage: Floats
    cosine: Floats


@dataclass(frozen=True, slots=True)
class Postings:
    """An inverted index in arrays, so that it is stored and read at once. `keys` are the sorted hashes of the tokens,
    `starts[i]:starts[i+1]` the places of the i-th token in `passages`, `saturated` and `weighted`."""

    count: int
    keys: NDArray[np.uint32]
    starts: Integers
    rarity: Floats
    passages: Integers
    saturated: Floats
    weighted: Floats

    @classmethod
    def of(cls, passages: Sequence[Sequence[str]]) -> Self:
        """Index the tokens of each passage."""
        count = len(passages)
        lengths = np.fromiter((len(each) for each in passages), np.int64, count)
        hashes = _hashes(token for passage in passages for token in passage)
        owners = np.repeat(np.arange(count, dtype=np.int64), lengths)
        pairs, times = np.unique((hashes.astype(np.int64) << 31) | owners, return_counts=True)
        owner = (pairs & 0x7FFFFFFF).astype(np.int32)
        keys, starts, frequency = np.unique((pairs >> 31).astype(np.uint32), return_index=True, return_counts=True)
        rarity = np.log1p((count - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        of_each = np.repeat(rarity, frequency)
        mean = max(1.0, float(lengths.mean())) if count else 1.0
        tempered = SATURATION * (1 - LENGTH + LENGTH * np.maximum(lengths, 1) / mean)
        saturated = times * (SATURATION + 1) / (times + tempered[owner]) * of_each
        weighted = (1 + np.log(times)) * of_each
        norms = np.sqrt(np.bincount(owner, weighted**2, count)) + 1e-9
        return cls(
            count=count,
            keys=keys,
            starts=np.append(starts, len(pairs)).astype(np.int32),
            rarity=rarity,
            passages=owner,
            saturated=saturated.astype(np.float32),
            weighted=(weighted / norms[owner]).astype(np.float32),
        )

    def match(self, query: Sequence[str]) -> Matches:
        """How well each passage matches the tokens of a query."""
        if not len(self.keys):
            return Matches(*(np.zeros(self.count, np.float32) for _ in range(3)))
        tokens, times = np.unique(_hashes(query), return_counts=True)
        places = np.searchsorted(self.keys, tokens)
        places[places == len(self.keys)] = 0
        known = self.keys[places] == tokens
        unknown = float(np.log1p((self.count + 0.5) / 0.5))
        rarity = np.full(len(tokens), unknown)
        rarity[known] = self.rarity[places[known]]
        share = (1 + np.log(times)) * rarity
        total, norm = max(float(rarity.sum()), 1e-9), max(float(np.sqrt((share**2).sum())), 1e-9)
        at, sizes = self._entries(places[known])
        passage = self.passages[at]
        return Matches(
            bm25=self._sum(passage, self.saturated[at]) / (total * (SATURATION + 1)),
            coverage=self._sum(passage, np.repeat(rarity[known], sizes)) / total,
            cosine=self._sum(passage, self.weighted[at] * np.repeat(share[known], sizes)) / norm,
        )

    def _entries(self, tokens: NDArray[np.intp]) -> tuple[NDArray[np.intp], Integers]:
        """The places of all entries of some tokens, and how many each has."""
        begin, end = self.starts[tokens], self.starts[tokens + 1]
        sizes = end - begin
        before = np.cumsum(sizes) - sizes
        return np.arange(int(sizes.sum())) + np.repeat(begin - before, sizes), sizes

    def _sum(self, passage: Integers, values: NDArray[np.floating]) -> Floats:
        return np.bincount(passage, values, self.count).astype(np.float32)


def _hashes(tokens: Iterable[str]) -> NDArray[np.uint32]:
    return np.fromiter((crc32(token.encode()) for token in tokens), np.uint32)

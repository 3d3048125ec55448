"""Lexical scores: an inverted index with BM25, coverage and cosine."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Literal, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from routing.types.vectors import Floats

Doubles = NDArray[np.float64]
Integers = NDArray[np.int32]
Places = NDArray[np.intp]

Column = Literal["saturated", "held", "weighted"]
"""A column of the postings; "held" is 1 for every posting."""

SATURATION, LENGTH = 1.2, 0.6
"""BM25's k1 and b."""
FREQUENT, MIN_PASSAGES = 16, 2048
"""In an index of at least MIN_PASSAGES, tokens that occur in more than 1 of FREQUENT passages are scored by a matrix
product, which is faster than their posting lists."""
CACHED_TOKENS = 4_096
_NOTHING = np.zeros(0, np.intp)


@dataclass(frozen=True)
class Postings:
    """An inverted index in arrays. `keys` are the sorted hashes of the tokens; `starts[i]:starts[i+1]` is the slice of
    the i-th token in `passages`, `saturated` (BM25) and `weighted` (cosine)."""

    count: int
    keys: NDArray[np.uint32]
    starts: Integers
    rarity: Floats
    passages: Integers
    saturated: Floats
    weighted: Floats

    @classmethod
    def of(cls, passages: Iterable[Sequence[str]]) -> Self:
        """Index the tokens of each passage. Reads one passage at a time: all tokens at once would take 30 MB."""
        kept, sizes = array("q"), array("q")
        for passage in passages:
            kept.extend(map(_hash, passage))
            sizes.append(len(passage))
        count, hashes, lengths = len(sizes), np.array(kept), np.array(sizes)
        owners = np.repeat(np.arange(count, dtype=np.int64), lengths)
        pairs, times = np.unique((hashes << 31) | owners, return_counts=True)
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

    def match(self, queries: Sequence[Sequence[str]]) -> Matches:
        """The scores of each passage for the tokens of each query."""
        return Matches(self, queries)

    @cached_property
    def frequent(self) -> Places | None:
        """For each token its row in `rows`, -1 if it is rare; None if all are rare."""
        sizes = np.diff(self.starts)
        having = (sizes * FREQUENT > self.count) & (self.count >= MIN_PASSAGES)
        return np.where(having, np.cumsum(having) - 1, -1) if having.any() else None

    def rows(self, column: Column) -> Floats:
        """The values of `column` for each frequent token (tokens × passages)."""
        if column not in self._rows:
            assert self.frequent is not None
            tokens = np.flatnonzero(self.frequent >= 0)
            made = np.zeros((len(tokens), self.count), np.float32)
            for row, begin, end in zip(made, self.starts[tokens], self.starts[tokens + 1], strict=True):
                row[self.passages[begin:end]] = 1 if column == "held" else getattr(self, column)[begin:end]
            self._rows[column] = made
        return self._rows[column]

    @cached_property
    def _rows(self) -> dict[Column, Floats]:
        return {}


class Matches:
    """Scores (queries × passages), computed when read. One call for several queries is much faster."""

    def __init__(self, index: Postings, queries: Sequence[Sequence[str]]) -> None:
        self._index = index
        self._shape = len(queries), index.count
        self._total = self._norm = self._rarity = self._share = np.ones(len(queries))
        self._at = self._often = self._used = _NOTHING
        if len(index.keys):
            self._weigh(queries)

    @property
    def bm25(self) -> Floats:
        """Divided by the maximum, so 0 to 1."""
        return self._sum("saturated", None, self._total * (SATURATION + 1))

    @property
    def coverage(self) -> Floats:
        """The share of the query's IDF weight that a passage contains."""
        return self._sum("held", self._rarity, self._total)

    @property
    def cosine(self) -> Floats:
        return self._sum("weighted", self._share, self._norm)

    def _weigh(self, queries: Sequence[Sequence[str]]) -> None:
        """Compute the weight of each known token in each query."""
        index = self._index
        query, hashes, times = _bags(queries)
        places = index.keys.searchsorted(hashes)
        places[places == len(index.keys)] = -1
        known = (index.keys[places] == hashes).nonzero()[0]
        places = places[known]
        rarity = np.full(len(hashes), np.log1p((index.count + 0.5) / 0.5))
        rarity[known] = index.rarity[places]
        share = (1 + np.log(times)) * rarity
        self._total = np.maximum(np.bincount(query, rarity, len(queries)), 1e-9)
        self._norm = np.maximum(np.sqrt(np.bincount(query, share**2, len(queries))), 1e-9)
        self._rarity, self._share = rarity[known], share[known]
        self._split(query[known], places)

    def _split(self, query: Places, tokens: Places) -> None:
        """Look up the postings of rare tokens and the rows of frequent ones."""
        index = self._index
        self._rare: Places | slice = slice(None)
        if index.frequent is not None:
            rows = index.frequent[tokens]
            self._rare, self._often = (rows < 0).nonzero()[0], (rows >= 0).nonzero()[0]
            self._used = np.bincount(rows[self._often]).nonzero()[0]
            self._cells = query[self._often], self._used.searchsorted(rows[self._often])
            query, tokens = query[self._rare], tokens[self._rare]
        begin = index.starts[tokens]
        self._sizes = index.starts[tokens + 1] - begin
        ends = self._sizes.cumsum()
        self._entries = np.arange(ends[-1] if len(ends) else 0) + (begin - ends + self._sizes).repeat(self._sizes)
        self._at = index.passages[self._entries] + (query * index.count).repeat(self._sizes)

    def _sum(self, column: Column, shares: Doubles | None, most: Doubles) -> Floats:
        """The sum of `column` times the token's share for each query and passage, divided by `most`."""
        count, size = self._shape
        if not len(self._at) and not len(self._used):
            return np.zeros(self._shape, np.float32)
        values: NDArray[np.floating] | None = None
        if column != "held":
            values = getattr(self._index, column)[self._entries]
        if shares is not None:
            each = shares[self._rare].repeat(self._sizes)
            values = each if values is None else values * each
        summed = np.bincount(self._at, values, count * size).astype(np.float32).reshape(self._shape)
        if len(self._used):
            factors = np.zeros((count, len(self._used)), np.float32)
            factors[self._cells] = 1 if shares is None else shares[self._often]
            summed += factors @ self._index.rows(column)[self._used]
        summed /= most.astype(np.float32)[:, None]
        return summed


def _bags(queries: Sequence[Sequence[str]]) -> tuple[Places, NDArray[np.uint32], Places]:
    """The distinct tokens of each query: number of the query, hash, count."""
    lengths = [len(query) for query in queries]
    hashes = _hashes(chain.from_iterable(queries))
    if len(queries) > 1:
        hashes |= np.arange(len(queries)).repeat(lengths) << 32
    hashes.sort()
    first = np.append(True, hashes[1:] != hashes[:-1]).nonzero()[0] if len(hashes) else np.zeros(0, np.intp)
    found = hashes[first]
    return found >> 32, (found & 0xFFFFFFFF).astype(np.uint32), np.append(first[1:], len(hashes)) - first


def _hashes(tokens: Iterable[str]) -> NDArray[np.int64]:
    return np.fromiter(map(_hash, tokens), np.int64)


@lru_cache(maxsize=CACHED_TOKENS)
def _hash(token: str) -> int:
    return crc32(token.encode())

"""The index compared with the formulas in plain Python, and its edge cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log1p, sqrt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.tools.selection.lexical import FREQUENT, LENGTH, MIN_PASSAGES, SATURATION, Postings
from routing.types.vectors import Floats

TOKENS = st.sampled_from(["rain", "snow", "wind", "song", "alarm", "天气", "погода"])
PASSAGES = st.lists(st.lists(TOKENS, max_size=8), max_size=8)
QUERY = st.lists(TOKENS | st.sampled_from(["unheard", "of"]), max_size=6)


class Naive:
    """BM25, coverage and cosine as in textbooks, one passage at a time."""

    def __init__(self, passages: Sequence[Sequence[str]]) -> None:
        self.passages = [Counter(passage) for passage in passages]
        self.lengths = [max(1, len(passage)) for passage in passages]
        self.mean = max(1.0, sum(map(len, passages)) / max(1, len(passages)))

    def rarity(self, token: str) -> float:
        having = sum(token in passage for passage in self.passages)
        return log1p((len(self.passages) - having + 0.5) / (having + 0.5))

    def weighted(self, bag: Counter[str]) -> dict[str, float]:
        return {token: (1 + log(times)) * self.rarity(token) for token, times in bag.items()}

    def bm25(self, query: Sequence[str], at: int) -> float:
        passage, tempered = self.passages[at], 1 - LENGTH + LENGTH * self.lengths[at] / self.mean
        held = {
            token: passage[token] * (SATURATION + 1) / (passage[token] + SATURATION * tempered) for token in {*query}
        }
        most = sum(map(self.rarity, held)) * (SATURATION + 1)
        return sum(value * self.rarity(token) for token, value in held.items()) / most

    def coverage(self, query: Sequence[str], at: int) -> float:
        return sum(self.rarity(token) for token in {*query} & {*self.passages[at]}) / sum(map(self.rarity, {*query}))

    def cosine(self, query: Sequence[str], at: int) -> float:
        ours, theirs = self.weighted(Counter(query)), self.weighted(self.passages[at])
        product = sum(value * theirs.get(token, 0.0) for token, value in ours.items())
        norms = sqrt(sum(v**2 for v in ours.values())) * sqrt(sum(v**2 for v in theirs.values()))
        return product / norms if norms else 0.0


@dataclass(frozen=True, slots=True)
class Match:
    """The scores for one query."""

    bm25: Floats
    coverage: Floats
    cosine: Floats


def match(index: Postings, query: Sequence[str]) -> Match:
    matches = index.match([query])
    return Match(matches.bm25[0], matches.coverage[0], matches.cosine[0])


def columns(matches: Match) -> list[list[float]]:
    return [matches.bm25.tolist(), matches.coverage.tolist(), matches.cosine.tolist()]


@given(PASSAGES, QUERY)
@example([["rain", "rain", "snow"], ["rain"], []], ["rain", "rain", "unheard"])
@example([["rain"]], ["rain"])
@example([[]], ["rain"])
def test_all_three_scores_match_their_formulas(passages: list[list[str]], query: list[str]) -> None:
    naive = Naive(passages)
    measures = (naive.bm25, naive.coverage, naive.cosine)
    expected = [[measure(query, at) if query else 0.0 for at in range(len(passages))] for measure in measures]
    assert columns(match(Postings.of(passages), query)) == [pytest.approx(each, abs=1e-5) for each in expected]


@given(PASSAGES, QUERY)
def test_scores_lie_between_0_and_1(passages: list[list[str]], query: list[str]) -> None:
    found = np.array(columns(match(Postings.of(passages), query)))
    assert found.shape == (3, len(passages))
    assert (found >= 0).all()
    assert (found <= 1 + 1e-5).all()


def test_an_identical_passage_scores_1() -> None:
    matches = match(Postings.of([["set", "an", "alarm"], ["play", "a", "song"]]), ["alarm", "an", "set"])
    assert matches.cosine.tolist() == pytest.approx([1, 0])
    assert matches.coverage.tolist() == pytest.approx([1, 0])


@pytest.mark.parametrize("query", [[], ["unheard"], ["unheard", "of"], ["~" * 1000]])
def test_unknown_tokens_match_nothing(query: list[str]) -> None:
    assert not np.any(columns(match(Postings.of([["rain"], ["snow"]]), query)))


def test_unknown_tokens_reduce_coverage() -> None:
    index = Postings.of([["rain"], ["snow"]])
    alone, beside = match(index, ["rain"]), match(index, ["rain", "unheard"])
    assert alone.coverage[0] == pytest.approx(1)
    assert 0 < beside.coverage[0] < 0.5  # the unknown one is rarer, and so weighs more
    assert beside.bm25[0] < alone.bm25[0]
    assert beside.cosine[0] < alone.cosine[0]


@pytest.mark.parametrize("passages", [[], [[]], [[], [], []]])
def test_without_passages_or_words_there_is_nothing_to_match(passages: list[list[str]]) -> None:
    matches = match(Postings.of(passages), ["rain"])
    assert columns(matches) == [[0.0] * len(passages)] * 3


def test_an_empty_passage_among_others_keeps_its_place() -> None:
    assert match(Postings.of([[], ["rain"], []]), ["rain"]).coverage.tolist() == pytest.approx([0, 1, 0])


def test_a_token_twice_counts_more_in_a_passage_and_once_in_a_query() -> None:
    index = Postings.of([["rain", "rain", "fog"], ["rain", "snow", "fog"], ["hail", "hail", "hail"]])
    once, twice = match(index, ["rain"]), match(index, ["rain", "rain"])
    assert once.bm25[0] > once.bm25[1] > once.bm25[2] == 0
    assert once.cosine[0] > once.cosine[1]
    assert columns(once) == [pytest.approx(each) for each in columns(twice)]


def test_rare_tokens_weigh_more_and_short_passages_too() -> None:
    index = Postings.of([["the", "alarm"], ["the", "song"], ["the", "lamp", "in", "the", "hall", "of", "mirrors"]])
    matches = match(index, ["the", "alarm"])
    assert matches.coverage[0] > 2 * matches.coverage[1] > 0
    assert match(index, ["lamp"]).bm25[2] < match(index, ["song"]).bm25[1]


@given(PASSAGES, st.lists(QUERY, max_size=5))
@example([["rain", "snow"], ["rain"]], [["rain"], [], ["rain", "rain", "unheard"], ["snow"]])
@example([], [["rain"], []])
def test_batched_queries_equal_single_queries(passages: list[list[str]], queries: list[list[str]]) -> None:
    index = Postings.of(passages)
    together = index.match(queries)
    alone = [match(index, query) for query in queries]
    for all_of_them, each in (
        (together.bm25, [one.bm25 for one in alone]),
        (together.coverage, [one.coverage for one in alone]),
        (together.cosine, [one.cosine for one in alone]),
    ):
        assert all_of_them.shape == (len(queries), len(passages))
        assert all_of_them.dtype == np.float32
        assert all_of_them.tolist() == [row.tolist() for row in each]


def many() -> list[list[str]]:
    """More passages than MIN_PASSAGES: one word in all, one in every third, and so on down to one in a single
    passage."""
    return [
        [
            "all",
            *(["third", "third"] if at % 3 == 0 else []),
            *(f"every{n}" for n in (9, 40) if at % n == 0),
            f"own{at}",
        ]
        for at in range(MIN_PASSAGES + 76)
    ]


@pytest.fixture(scope="module")
def large() -> Postings:
    return Postings.of(many())


QUERIES = [
    ["all"],
    ["third", "third", "own7", "unheard"],
    ["every9", "every40", "own0", "all", "third"],
    [],
    ["own3", "every40"],
    ["unheard"],
]


def test_only_frequent_tokens_have_dense_rows(large: Postings) -> None:
    assert large.frequent is not None
    assert sorted(large.frequent[large.frequent >= 0]) == [0, 1, 2]
    sizes = np.diff(large.starts)
    assert ((large.frequent >= 0) == (sizes * FREQUENT > large.count)).all()
    assert Postings.of(many()[: MIN_PASSAGES - 1]).frequent is None


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_dense_rows_match_the_formulas(large: Postings, query: list[str]) -> None:
    naive, found = Naive(many()), columns(match(large, query))
    for at in (0, 3, 7, 9, 40, 360, 1000, MIN_PASSAGES):
        expected = [measure(query, at) if query else 0.0 for measure in (naive.bm25, naive.coverage, naive.cosine)]
        assert [column[at] for column in found] == pytest.approx(expected, abs=1e-6)


def test_dense_rows_do_not_depend_on_batching(large: Postings) -> None:
    together = large.match(QUERIES)
    for _ in range(2):
        for at, query in enumerate(QUERIES):
            each = columns(match(large, query))
            assert [row.tolist() for row in (together.bm25[at], together.coverage[at], together.cosine[at])] == [
                pytest.approx(column, abs=1e-6) for column in each
            ]


def test_passages_may_be_a_generator() -> None:
    passages = many()[:50]
    from_a_list, one_by_one = Postings.of(passages), Postings.of(iter(passages))
    assert columns(match(one_by_one, ["third", "own3"])) == columns(match(from_a_list, ["third", "own3"]))

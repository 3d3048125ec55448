"""The best passage of each owner, compared with plain Python."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from routing.tools.selection.entries import MAX_TURNS, SPARSE, PassageOwners

OWNERS = st.integers(1, 12).flatmap(
    lambda count: st.tuples(st.just(count), st.lists(st.integers(0, count - 1), max_size=30))
)


def plain(owners: list[int], count: int, values: list[float]) -> list[float]:
    theirs = [[value for owner, value in zip(owners, values, strict=True) if owner == at] for at in range(count)]
    return [max(each, default=0.0) for each in theirs]


def scores(owners: list[int], rows: int) -> list[list[float]]:
    """Any values, also below 0, each exact in 32 bits."""
    return [[((at * 37 + row * 11) % 23 - 11) / 8 for at in range(len(owners))] for row in range(rows)]


@given(OWNERS, st.integers(1, 4))
@example((4, [0, 1, 2, 3]), 2)
@example((4, [0, 1, 1, 2, 3]), 2)
@example((4, [3, 1, 2, 0, 1]), 2)
@example((16, [*range(16), *[5] * (MAX_TURNS - 1)]), 2)
@example((16, [*range(16), *[5] * MAX_TURNS]), 2)
@example((2, []), 1)
def test_the_best_passage_of_each_entry_in_every_row(given: tuple[int, list[int]], rows: int) -> None:
    count, owners = given
    values = scores(owners, rows)
    expected = [plain(owners, count, row) for row in values]
    by = PassageOwners(owners, count)
    together = by.best(np.array(values, np.float32).reshape(rows, len(owners)))
    assert together.dtype == np.float32
    assert together.tolist() == expected
    assert [by.best(np.array(row, np.float32)).tolist() for row in values] == expected


@pytest.mark.parametrize("more", [0, 1, int(SPARSE * 40), int(SPARSE * 40) + 1, 20, 39, 40])
@pytest.mark.parametrize("times", [1, MAX_TURNS - 1, MAX_TURNS])
def test_the_number_of_passages_does_not_change_results(more: int, times: int) -> None:
    owners = [*range(40), *(at for at in range(more) for _ in range(times))]
    values = scores(owners, 2)
    expected = [plain(owners, 40, row) for row in values]
    assert PassageOwners(owners, 40).best(np.array(values, np.float32)).tolist() == expected


@given(OWNERS)
@example((3, [0, 1, 2]))
@example((3, [2, 1, 0]))
@example((3, [0, 1, 2, 1]))
def test_odds_of_any_entry_are_the_sum(given: tuple[int, list[int]]) -> None:
    count, owners = given
    owners = [*owners, *range(count)]
    (odds,) = scores(owners, 1)
    expected = [
        log(sum(exp(value) for owner, value in zip(owners, odds, strict=True) if owner == at)) for at in range(count)
    ]
    assert PassageOwners(owners, count).any(np.array(odds, np.float32)).tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("owners", [[0, 1, 2], [2, 0, 1]])
def test_a_single_passage_keeps_its_odds(owners: list[int]) -> None:
    odds = np.array([0.5, -2, 3], np.float32)
    assert PassageOwners(owners, 3).any(odds).tolist() == [odds[owners.index(at)] for at in range(3)]


def test_the_input_is_not_modified() -> None:
    for owners in ([0, 1, 2], [0, 1, 1, 2], [2, 1, 0]):
        values = np.array([0.5, -1, 2, 3][: len(owners)], np.float32)
        by = PassageOwners(owners, 3)
        by.best(values)[:] = 9
        by.any(values)[:] = 9
        assert values.tolist() == [0.5, -1, 2, 3][: len(owners)]


def test_no_passages() -> None:
    empty = PassageOwners([], 0)
    assert empty.best(np.zeros(0, np.float32)).tolist() == empty.any(np.zeros(0, np.float32)).tolist() == []

"""Intervals: known ones, and what must hold for any."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.intervals import Interval, mean, proportion


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (45, 50, 0.7864, 0.9565), (1, 2, 0.0945, 0.9055)],
)
def test_wilsons_interval_as_it_is_published(hits: int, count: int, low: float, high: float) -> None:
    found = proportion([True] * hits + [False] * (count - hits))
    assert found is not None
    assert found.value == hits / count
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_a_share_lies_in_its_interval_and_turns_round_with_it(hits: list[bool]) -> None:
    found, turned = proportion(hits), proportion([not hit for hit in hits])
    assert found is not None
    assert turned is not None
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((found.low, found.high))


def test_a_mean_has_the_interval_that_theory_says_and_the_same_one_every_time() -> None:
    values = [0.0] * 100 + [1.0] * 100
    found = mean(values)
    assert found is not None
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - 0.0693, 0.5 + 0.0693), abs=0.01)
    assert mean(values) == found


def test_values_that_are_all_alike_leave_no_doubt() -> None:
    assert mean([3.0] * 20) == Interval(3.0, 3.0, 3.0)


def test_nothing_has_no_figure() -> None:
    assert proportion([]) is None
    assert mean([]) is None


def test_an_interval_is_told_with_its_bounds() -> None:
    assert Interval(0.9, 0.786, 0.957).text() == "0.90 (0.79 to 0.96)"
    assert Interval(4.06, 2.0, 6.0).text(1) == "4.1 (2.0 to 6.0)"

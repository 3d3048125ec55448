"""Confidence intervals: published values and general properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reporting.intervals import Interval, mean, proportion


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (45, 50, 0.7864, 0.9565), (1, 2, 0.0945, 0.9055)],
)
def test_wilson_interval_matches_published_values(hits: int, count: int, low: float, high: float) -> None:
    found = proportion([True] * hits + [False] * (count - hits))
    assert found is not None
    assert found.value == hits / count
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_a_proportion_lies_in_its_interval_which_is_symmetric(hits: list[bool]) -> None:
    found, turned = proportion(hits), proportion([not hit for hit in hits])
    assert found is not None
    assert turned is not None
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert (1 - turned.high, 1 - turned.low) == pytest.approx((found.low, found.high))


def test_the_bootstrap_interval_matches_theory_and_is_reproducible() -> None:
    values = [0.0] * 100 + [1.0] * 100
    found = mean(values)
    assert found is not None
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - 0.0693, 0.5 + 0.0693), abs=0.01)
    assert mean(values) == found


def test_equal_values_have_a_zero_width_interval() -> None:
    assert mean([3.0] * 20) == Interval(3.0, 3.0, 3.0)


def test_no_values_give_no_interval() -> None:
    assert proportion([]) is None
    assert mean([]) is None


def test_an_interval_is_printed_with_its_bounds() -> None:
    assert Interval(0.9, 0.786, 0.957).text() == "0.90 (0.79 to 0.96)"
    assert Interval(4.06, 2.0, 6.0).text(1) == "4.1 (2.0 to 6.0)"

"""How many of the likeliest are shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.selection.policy import POLICY, Policy

OPEN = Policy(gate=-100, least=-100, falling=0, most=100, growing=1, certain=9)


def shown(policy: Policy, *odds: float) -> list[int]:
    return list(policy.shown(np.array(odds, np.float32)))


def policy(
    gate: float = -100, least: float = -100, falling: float = 0, most: float = 100, growing: float = 1
) -> Policy:
    return Policy(gate, least, falling, most, growing, certain=9)


def test_the_likeliest_come_first_and_equals_in_order() -> None:
    assert shown(OPEN, 1, 3, 2, 3) == [1, 3, 2, 0]
    assert shown(OPEN) == []


@pytest.mark.parametrize(("gate", "places"), [(0.5, [1, 0]), (2.0, [1, 0]), (2.1, [])])
def test_only_the_first_must_pass_the_gate(gate: float, places: list[int]) -> None:
    assert shown(policy(gate=gate), -3, 2) == places


@pytest.mark.parametrize(("most", "growing", "count"), [(0.1, 1, 4), (1, 0.5, 6), (3, 0, 3), (0.01, 1, 2), (0, 0, 2)])
def test_the_cap_grows_with_the_catalogue_and_leaves_two(most: float, growing: float, count: int) -> None:
    assert shown(policy(most=most, growing=growing), *range(40)) == [39 - place for place in range(count)]


def test_of_a_part_another_share_may_be_shown() -> None:
    odds = np.arange(40, dtype=np.float32)
    assert len(list(policy(most=0.1).shown(odds, 1.5))) == 6


def test_each_must_have_its_share_of_all_likelihood() -> None:
    quarter, half = policy(least=float(np.log(0.25))), policy(least=float(np.log(0.5)))
    odds = [np.log(6), np.log(3), np.log(0.5)]  # with none at 1 the whole is 10.5
    assert shown(quarter, *odds) == [0, 1]
    assert shown(half, *odds) == [0]
    assert shown(half, np.log(3), np.log(3)) == []  # none has a share, too


def test_the_share_falls_with_the_size_of_the_catalogue() -> None:
    flat, falling = policy(least=-1), policy(least=-1, falling=1)
    assert shown(flat, *[0.0] * 10) == []
    assert len(shown(falling, *[0.0] * 10)) == 10


@given(st.lists(st.floats(-30, 30, width=32), max_size=60))
def test_what_is_set_shows_the_best_or_nothing(odds: list[float]) -> None:
    places = shown(POLICY, *odds)
    values = [odds[place] for place in places]
    assert len({*places}) == len(places) and values == sorted(values, reverse=True)
    assert not places or values[0] == max(odds) >= POLICY.gate


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=60))
def test_whoever_is_shown_is_no_worse_than_whoever_is_not(odds: list[float]) -> None:
    places = shown(POLICY, *odds)
    hidden = [value for at, value in enumerate(odds) if at not in places]
    assert not places or not hidden or min(odds[at] for at in places) >= max(hidden)


def test_a_certainty_passes_the_gate() -> None:
    assert POLICY.certain > POLICY.gate

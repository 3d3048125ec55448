"""How many of the likeliest tools are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.tools.selection.fusion import FEW, POLICY, Policy

OPEN = Policy(gate=-100, least=-100, falling=0, most=100, growing=1, certain=9)
TALK = Policy(gate=1, least=-100, falling=0, most=100, growing=1, certain=9, talk=0.5, alone=2)


def shown(policy: Policy, *odds: float) -> list[int]:
    return list(policy.shown(np.array(odds, np.float32)))


def policy(
    gate: float = -100, least: float = -100, falling: float = 0, most: float = 100, growing: float = 1
) -> Policy:
    return Policy(gate, least, falling, most, growing, certain=9)


def test_candidates_are_sorted_by_probability_stably() -> None:
    assert shown(OPEN, 1, 3, 2, 3) == [1, 3, 2, 0]
    assert shown(OPEN) == []


def opened(policy: Policy, *odds: Sequence[float], small_talk: Sequence[float] | None = None) -> list[bool]:
    return policy.open([np.array(each, np.float32) for each in odds], small_talk or [0.0] * len(odds))


@pytest.mark.parametrize(("gate", "is_open"), [(2.0, True), (np.log(10), True), (2.5, False)])
def test_the_total_must_pass_the_gate(gate: float, is_open: bool) -> None:
    assert opened(policy(gate=gate - 1e-4), [np.log(6), np.log(3), 0]) == [is_open]


@pytest.mark.parametrize(("odds", "is_open"), [(0.6, True), (0.4, False)])
def test_less_is_enough_for_a_message_in_another_language(odds: float, is_open: bool) -> None:
    found = [np.array([odds], np.float32)]
    strict = replace(policy(gate=1.0), glossed=0.5)
    assert strict.open(found, [0.0], glossed=True) == [is_open]
    assert strict.open(found, [0.0]) == [False]


@pytest.mark.parametrize(("small_talk", "is_open"), [(-4, True), (0, True), (2, True), (2.1, False)])
def test_small_talk_counts_against_all(small_talk: float, is_open: bool) -> None:
    assert opened(TALK, [2.0], small_talk=[small_talk]) == [is_open]


@pytest.mark.parametrize(
    ("odds", "is_open"),
    [
        ([1, 1, -3], [True, True, False]),
        ([1, 0, -3], [True, False, False]),
        ([0, 2.9, 2], [False, False, False]),
        ([0, 3, 2], [False, True, True]),
    ],
)
def test_a_single_clause_needs_more_certainty(odds: list[float], is_open: list[bool]) -> None:
    assert opened(TALK, *([each] for each in odds)) == is_open


def test_without_candidates_nothing_is_open() -> None:
    assert opened(TALK) == []
    assert opened(TALK, [], []) == [False, False]


@pytest.mark.parametrize(("most", "growing", "count"), [(0.1, 1, 4), (1, 0.5, 6), (3, 0, 3), (0.01, 1, 2), (0, 0, 2)])
def test_the_cap_grows_with_the_catalogue_and_leaves_two(most: float, growing: float, count: int) -> None:
    assert shown(policy(most=most, growing=growing), *range(40)) == [39 - place for place in range(count)]


@pytest.mark.parametrize(("count", "part", "anyway"), [(20, 1.0, 4), (20, 0.5, 2), (4, 1.0, 0), (1, 1.0, 0)])
def test_a_large_catalogue_always_shows_some_tools(count: int, part: float, anyway: int) -> None:
    wide = Policy(gate=-100, least=100, falling=0, most=0, growing=0, certain=9, wide=0.01)
    assert list(wide.shown(np.arange(count, dtype=np.float32), part)) == [count - 1 - rank for rank in range(anyway)]


@pytest.mark.parametrize(("count", "most"), [(1_000, 10), (2_000, 40), (4_076, 166), (10_000, 166), (20_000, 166)])
def test_the_minimum_does_not_grow_further(count: int, most: int) -> None:
    odds = np.linspace(-20, -30, count, dtype=np.float32)
    odds[0] = 9
    assert len(list(POLICY.shown(odds))) == most


def test_clauses_have_a_different_share() -> None:
    odds = np.arange(40, dtype=np.float32)
    assert len(list(policy(most=0.1).shown(odds, 1.5))) == 6


def test_each_tool_needs_a_share_of_the_total() -> None:
    quarter, half = policy(least=float(np.log(0.25))), policy(least=float(np.log(0.5)))
    odds = [np.log(6), np.log(3), np.log(0.5)]
    assert shown(quarter, *odds) == [0, 1]
    assert shown(half, *odds) == [0]
    assert shown(half, np.log(4), np.log(3), np.log(3)) == []


def test_the_share_falls_with_the_size_of_the_catalogue() -> None:
    flat, falling = policy(least=-1), policy(least=-1, falling=1)
    assert shown(flat, *[0.0] * 10) == []
    assert len(shown(falling, *[0.0] * 10)) == 10


def test_nothing_is_shown_below_the_lowest_odds() -> None:
    bounded = Policy(gate=-100, least=-100, falling=0, most=100, growing=1, certain=9, lowest=-2)
    assert shown(bounded, -3, -1, -2, -2.1) == [1, 2]
    assert shown(bounded, -3, -4) == []


def test_what_is_sure_is_shown_beside_what_is_surer() -> None:
    share = Policy(gate=-100, least=-1, falling=0, most=100, growing=1, certain=9, sure=0.5)
    assert shown(share, 9, 1, 0, 8.5) == [0, 3, 1]


@pytest.mark.parametrize(("count", "number"), [(2, 1), (FEW, 1), (4 * FEW, 4 * FEW)])
def test_the_lowest_odds_fall_in_large_catalogues(count: int, number: int) -> None:
    bounded = Policy(gate=-100, least=-100, falling=0.5, most=100, growing=1, certain=9, lowest=-2)
    assert len(shown(bounded, 0, *[-3.0] * (count - 1))) == number


@given(st.lists(st.floats(-30, 30, width=32), max_size=60))
def test_a_fixed_limit_shows_the_best_or_nothing(odds: list[float]) -> None:
    places = shown(POLICY, *odds)
    values = [odds[place] for place in places]
    assert len({*places}) == len(places)
    assert values == sorted(values, reverse=True)
    assert places or not odds or max(odds) < POLICY.lowest
    assert not places or values[0] == max(odds)


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=60))
def test_shown_tools_score_no_worse_than_hidden_ones(odds: list[float]) -> None:
    places = shown(POLICY, *odds)
    hidden = [value for at, value in enumerate(odds) if at not in places]
    assert not places or not hidden or min(odds[at] for at in places) >= max(hidden)


def test_a_certainty_passes_the_gate() -> None:
    assert POLICY.certain > POLICY.gate

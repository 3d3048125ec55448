"""The likeliest of many tools, compared with a plain sort."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.tools.presentation import DISCOVERY, Candidate, discovery_first, likeliest, ranked
from routing.types.toolkits import ToolCard

ODDS = st.sampled_from((-9.0, -3.0, 0.0, 0.5, 7.0)) | st.floats(-30, 30)
SOME = st.lists(
    st.tuples(st.booleans(), ODDS, st.sampled_from((0.0, 1.0, -1.0))).map(
        lambda each: Candidate(ToolCard("tool", {}, priority=each[2]), each[0], each[1])
    ),
    max_size=60,
)


@given(SOME, st.integers(0, 70), st.integers(0, 70))
def test_the_top_candidates_equal_a_plain_sort(some: list[Candidate], soon: int, looked_at: int) -> None:
    plain = sorted(some, key=lambda each: (not each.selected, -each.relevance, -each.card.priority))
    found = list(islice(ranked(some, soon), looked_at))
    assert list(map(id, found)) == list(map(id, plain[:looked_at]))


@given(SOME, st.integers(0, 70))
def test_the_likeliest_may_be_selected_or_not(some: list[Candidate], most: int) -> None:
    plain = sorted(some, key=lambda each: (-each.relevance, -each.card.priority))
    assert list(map(id, likeliest(some, most))) == list(map(id, plain[:most]))


@pytest.mark.parametrize("there", [True, False])
def test_the_discovery_tool_comes_first(there: bool) -> None:
    tools = [Candidate(ToolCard(f"tool_{at}", {}), True, -at) for at in range(3)]
    search = [Candidate(ToolCard(DISCOVERY, {}), False, 5)] if there else []
    order = [*tools[:1], *search, *tools[1:]]
    assert list(discovery_first([*tools, *search], order)) == [*search, *tools]
    assert list(discovery_first([*tools, *search], tools)) == [*search, *tools]

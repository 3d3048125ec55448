"""The limits of each size class hold for any tools."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.config.presentation import MAX_DEFINITIONS, PRESENTATIONS, Presentation, Strategy
from routing.tools.presentation import (
    ASK_FOR_CALLS,
    DISCOVERY,
    MAX_KINDS,
    SEARCH,
    SHARE_OF_KINDS,
    TRIED,
    Candidate,
    Shown,
    present,
    tokens,
)
from routing.types.decisions import SIZES, Size
from routing.types.toolkits import QUARTERS, ToolCard, text_weight
from tests.routing.tools.cards import WIDE, candidate, card_of, eighty, names, of_kinds, on_the_wire, spoken


@pytest.mark.parametrize("size", SIZES)
def test_eighty_tools_keep_the_limits_of_each_class(size: Size) -> None:
    limits = PRESENTATIONS[size]
    shown = present(eighty(selected=79), size, limits)
    assert 0 < len(shown.specs) <= limits.most_tools
    assert on_the_wire(shown) <= limits.most_tokens
    assert shown.tokens == math.ceil(on_the_wire(shown))


def test_the_name_list_is_truncated_to_the_budget() -> None:
    many = [candidate(f"a_rather_long_name_of_a_tool_{number}", -number) for number in range(200)]
    shown = present(many, "S", Presentation("top_k", 4, 400))
    told = [name for name in shown.names if f"{name}," in shown.hint]
    assert len(shown.names) == 196
    assert 0 < len(told) < 196
    assert told == list(shown.names[: len(told)])
    assert f", … and {196 - len(told)} more. " in shown.hint
    assert on_the_wire(shown) <= 400


def test_discovery_keeps_its_slot_within_a_small_budget() -> None:
    tools = [candidate(DISCOVERY, -9), *(candidate(f"tool_{number}", number, length=500) for number in range(6))]
    shown = present(tools, "S", Presentation("top_k", 8, 400))
    assert 0 < len(shown.specs) < 7
    assert shown.names
    assert shown.specs[-1].name == DISCOVERY
    assert DISCOVERY not in shown.names


def test_without_space_for_a_definition_all_tools_are_named() -> None:
    shown = present([candidate("tool", length=9_000), candidate("other", 1, length=9_000)], "S", PRESENTATIONS["S"])
    assert shown.specs == ()
    assert shown.names == ("other", "tool")
    assert shown.hint == f"More tools, to be called by name: tool, other. {ASK_FOR_CALLS}"
    assert present([], "S", PRESENTATIONS["S"]) == Shown((), hint=ASK_FOR_CALLS)


@pytest.mark.parametrize("strategy", sorted({*get_args(Strategy)} - {"all"}))
def test_a_too_long_tool_is_replaced_by_the_next(strategy: Strategy) -> None:
    tools = [candidate("giant", 9, length=9_000), candidate("likely", 5), candidate("plain", 1)]
    shown = present(tools, "L", Presentation(strategy, 2, 500))
    assert [spec.name for spec in shown.specs if spec.description] == ["likely", "plain"]
    assert "giant" in shown.names or "giant" in names(shown.specs) or strategy in ("reorder", "full")


def test_the_search_for_a_shorter_tool_is_bounded() -> None:
    long = [candidate(f"long_{number}", 9, length=9_000) for number in range(2 * TRIED)]
    assert names(present([*long, candidate("short")], "L", Presentation("full", 2, 500)).specs) == []
    assert names(present([*long[1:], candidate("short")], "L", Presentation("full", 2, 500)).specs) == ["short"]


def test_the_largest_categories_are_named_for_any_message() -> None:
    rare, often = [f"rare {at}" for at in range(40)], [f"kind {at}" for at in range(MAX_KINDS)]
    hints = {
        present(of_kinds(*rare, *often, *often, about=about), "L", PRESENTATIONS["L"]).hint
        for about in ("rare 7", "kind 3", "")
    }
    assert hints == {f"Kinds of tools here: {', '.join(often)}.{SEARCH}"}
    few = present(of_kinds("b", "a", "a", "", "c", "c", "c"), "L", PRESENTATIONS["L"])
    assert few.hint == f"Kinds of tools here: b, a, c.{SEARCH}"


def test_categories_of_1000_tools_leave_space_for_tools() -> None:
    tools = of_kinds(*(f"kind-{at:027}" for at in range(1_000)), about="kind-" + "7".zfill(27))
    for most_tokens in (200, 1_000, 4_096, 8_000):
        shown = present(tools, "L", Presentation("reorder", 40, most_tokens))
        assert {DISCOVERY, "tool_7"} <= {*names(shown.specs)}
        assert shown.tokens <= most_tokens
        assert text_weight(shown.hint) <= QUARTERS * most_tokens // SHARE_OF_KINDS
    assert present(tools, "L", Presentation("reorder", 40, 200)).hint == ""
    for most_tokens in range(1_000, 1_100, 7):
        shown = present([each._replace(selected=True) for each in tools], "L", Presentation("reorder", 90, most_tokens))
        assert shown.hint
        assert most_tokens - 100 < on_the_wire(shown) <= most_tokens


def test_single_token_characters_are_counted() -> None:
    korean = [Candidate(card_of(f"tool_{number}", "날씨를 알려 줍니다 " * 30), True, number) for number in range(80)]
    for size in SIZES:
        shown = present(korean, size, PRESENTATIONS[size])
        wide = sum("가" <= sign <= "힣" for spec in shown.specs for sign in spec.description)
        assert 0 < wide <= shown.tokens <= PRESENTATIONS[size].most_tokens
    assert tokens([card_of("a", "날씨").spec("S")]) - tokens([card_of("a", "").spec("S")]) == 2
    assert tokens([card_of("a", "wxyz" * 5).spec("S")]) - tokens([card_of("a", "").spec("S")]) == 5


def test_stubs_respect_provider_limits_and_keep_discovery() -> None:
    shown = present([*eighty(), *(candidate(f"more_{number}") for number in range(200))], "S", PRESENTATIONS["S"])
    assert len(shown.specs) <= 8
    shown = present(
        [*eighty(), *(candidate(f"more_{number}", -1) for number in range(200))], "S", Presentation("hybrid", 8, WIDE)
    )
    assert len(shown.specs) == MAX_DEFINITIONS
    assert shown.specs[0].name == DISCOVERY
    assert shown.specs[0].description
    assert sum(bool(each.description) for each in shown.specs) == 8


KINDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=32)


@given(
    lengths=st.lists(st.integers(0, 2_000), max_size=30),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    kinds=st.lists(KINDS, min_size=1, max_size=30),
    most_tools=st.integers(1, 12),
    most_tokens=st.integers(0, 2_000),
    strategy=st.sampled_from(sorted({*get_args(Strategy)} - {"hybrid", "all"})),
    size=st.sampled_from(SIZES),
)
def test_no_limit_is_exceeded(
    lengths: list[int], text: str, kinds: list[str], most_tools: int, most_tokens: int, strategy: Strategy, size: Size
) -> None:
    called = [DISCOVERY if at == 3 else f"tool_{at}" for at in range(len(lengths))]
    tools = [
        candidate(name, at % 5, at % 3 > 0, lengths[at])._replace(base=at % 4 == 0) for at, name in enumerate(called)
    ]
    cards = [ToolCard(each.card.name, spoken(each.card, text), kinds[at % len(kinds)]) for at, each in enumerate(tools)]
    tools = [each._replace(card=card) for each, card in zip(tools, cards, strict=True)]
    shown = present(tools, size, Presentation(strategy, most_tools, most_tokens))
    assert len(shown.specs) <= most_tools
    assert tokens(shown.specs) <= shown.tokens <= most_tokens
    assert on_the_wire(shown) <= shown.tokens
    assert len({*names(shown.specs), *shown.names}) == len(shown.specs) + len(shown.names)

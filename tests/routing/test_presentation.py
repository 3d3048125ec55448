"""What a model of each size is told of eighty tools, and that limits are limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing import jsonfile
from routing.calls import ToolSpec
from routing.errors import ConfigError
from routing.presentation import (
    ASK_FOR_CALLS,
    DISCOVERY,
    MOST_DEFINITIONS,
    PRESENTATIONS,
    STUB,
    TRIED,
    Candidate,
    Presentation,
    Shown,
    Strategy,
    present,
    read_presentations,
    tokens,
)
from routing.sizes import SIZES, Size
from routing.toolkits import QUARTERS, ToolCard, ToolText, text_weight

CATEGORIES = ("info", "files", "home", "")
WIDE = 1_000_000


def card(name: str, length: int = 60, category: str = "", priority: float = 0) -> ToolCard:
    parameter = {"type": "object", "properties": {"subject": {"type": "string", "description": "What it is about."}}}
    texts = {size: ToolText(f"{size} {'d' * length}", parameter) for size in SIZES}
    return ToolCard(name, texts, category, priority=priority)


def candidate(name: str, relevance: float = 0, selected: bool = True, length: int = 60) -> Candidate:
    return Candidate(card(name, length), selected, relevance)


def eighty(selected: int = 20) -> list[Candidate]:
    """Relevance rises with the number; discovery is the least relevant of all and not selected."""
    tools = [
        Candidate(card(f"synthetic_tool_{number}", 60, CATEGORIES[number % 4]), number >= 79 - selected, number)
        for number in range(79)
    ]
    return [Candidate(card(DISCOVERY), False, -9), *tools]


def names(specs: Sequence[ToolSpec]) -> list[str]:
    return [spec.name for spec in specs]


def on_the_wire(shown: Shown) -> float:
    sent = [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
        }
        for each in shown.specs
    ]
    definitions = "".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False) for each in sent)
    return text_weight(definitions + shown.hint) / QUARTERS


@pytest.mark.parametrize("size", SIZES)
def test_eighty_tools_keep_the_limits_of_each_class(size: Size) -> None:
    limits = PRESENTATIONS[size]
    shown = present(eighty(selected=79), size, limits)
    assert 0 < len(shown.specs) <= limits.most_tools
    assert on_the_wire(shown) <= limits.most_tokens + 1
    assert shown.tokens == pytest.approx(on_the_wire(shown), abs=1)


def test_a_small_model_gets_few_tools_the_names_of_all_others_and_is_asked_to_call() -> None:
    shown = present(eighty(), "S", PRESENTATIONS["S"])
    assert PRESENTATIONS["S"].most_tools <= 8 and on_the_wire(shown) <= 800
    assert names(shown.specs) == [*(f"synthetic_tool_{number}" for number in range(78, 71, -1)), DISCOVERY]
    assert len(shown.names) == 72 and {*shown.names} | {*names(shown.specs)} == {each.card.name for each in eighty()}
    assert shown.hint.startswith(f"More tools, to be found with {DISCOVERY}: synthetic_tool_")
    assert "synthetic_tool_71, … and 15 more." in shown.hint, "the most relevant ones, in their stable order"
    assert shown.hint.endswith(ASK_FOR_CALLS) and "\n" not in shown.hint
    assert all(spec.description.startswith("S ") for spec in shown.specs)


def test_other_models_are_not_asked_to_call() -> None:
    shown = present(eighty(), "M", PRESENTATIONS["M"])
    assert 8 <= len(shown.specs) <= 12 and ASK_FOR_CALLS not in shown.hint
    assert DISCOVERY in names(shown.specs)


def test_few_tools_need_no_line_of_names() -> None:
    few = [candidate("weather"), candidate("alarm", 1)]
    assert present(few, "M", PRESENTATIONS["M"]) == Shown((few[1].card.spec("M"), few[0].card.spec("M")))
    assert present(few, "S", PRESENTATIONS["S"]).hint == ASK_FOR_CALLS


def test_the_line_of_names_is_cut_where_there_is_no_room() -> None:
    many = [candidate(f"a_rather_long_name_of_a_tool_{number}", -number) for number in range(200)]
    shown = present(many, "S", Presentation("top_k", 4, 400))
    told = [name for name in shown.names if f"{name}," in shown.hint]
    assert len(shown.names) == 196 and 0 < len(told) < 196 and told == list(shown.names[: len(told)])
    assert f", … and {196 - len(told)} more. " in shown.hint
    assert on_the_wire(shown) <= 401


def test_discovery_holds_a_slot_when_the_tokens_are_short() -> None:
    tools = [candidate(DISCOVERY, -9), *(candidate(f"tool_{number}", number, length=500) for number in range(6))]
    shown = present(tools, "S", Presentation("top_k", 8, 400))
    assert 0 < len(shown.specs) < 7 and shown.names
    assert shown.specs[-1].name == DISCOVERY and DISCOVERY not in shown.names


def test_without_room_for_one_tool_all_are_named() -> None:
    shown = present([candidate("tool", length=9_000), candidate("other", 1, length=9_000)], "S", PRESENTATIONS["S"])
    assert shown.specs == () and shown.names == ("other", "tool")
    assert shown.hint == f"More tools, to be called by name: tool, other. {ASK_FOR_CALLS}"
    assert present([], "S", PRESENTATIONS["S"]) == Shown((), hint=ASK_FOR_CALLS)


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_one_that_is_too_long_leaves_its_place_to_the_next(strategy: Strategy) -> None:
    tools = [candidate("giant", 9, length=9_000), candidate("likely", 5), candidate("plain", 1)]
    shown = present(tools, "L", Presentation(strategy, 2, 500))
    assert [spec.name for spec in shown.specs if spec.description] == ["likely", "plain"]
    assert "giant" in shown.names or "giant" in names(shown.specs) or strategy in ("reorder", "full")


def test_no_endless_search_for_one_that_is_short_enough() -> None:
    long = [candidate(f"long_{number}", 9, length=9_000) for number in range(2 * TRIED)]
    assert names(present([*long, candidate("short")], "L", Presentation("full", 2, 500)).specs) == []
    assert names(present([*long[1:], candidate("short")], "L", Presentation("full", 2, 500)).specs) == ["short"]


def test_a_line_of_names_never_costs_more_than_there_is_room_for() -> None:
    for most_tokens in range(60, 400):
        shown = present(eighty(), "S", Presentation("top_k", 8, most_tokens))
        assert on_the_wire(shown) <= most_tokens + 1 and shown.tokens <= most_tokens


def test_selected_ones_come_first_then_relevance_then_priority_then_order() -> None:
    tools = [
        candidate("unselected", 9, selected=False),
        candidate("plain", 1),
        Candidate(card("important", priority=2), True, 1),
        candidate("likely", 5),
        candidate("plain_too", 1),
    ]
    shown = present(tools, "M", Presentation("top_k", 9, WIDE))
    assert names(shown.specs) == ["likely", "important", "plain", "plain_too", "unselected"]


def test_reorder_shows_the_selected_by_relevance_and_tells_which_kinds_there_are() -> None:
    shown = present(eighty(selected=5), "L", PRESENTATIONS["L"])
    assert names(shown.specs) == [*(f"synthetic_tool_{number}" for number in range(78, 73, -1)), DISCOVERY]
    assert shown.hint == f"Kinds of tools here: info, files, home. {DISCOVERY} finds those that you do not see."
    assert present(eighty(selected=1), "L", PRESENTATIONS["L"]).hint == shown.hint, "prompt caches live on that"


@pytest.mark.parametrize("strategy", ["reorder", "full"])
def test_what_is_always_there_keeps_its_place_beside_many_likelier_ones(strategy: Strategy) -> None:
    base = [candidate(name, -9)._replace(base=True) for name in ("calculate", "set_tier", DISCOVERY)]
    many = [candidate(f"jira_{number}", number) for number in range(156)]
    shown = present([*base, *many], "XL", Presentation(strategy, 500, WIDE))
    assert len(shown.specs) == MOST_DEFINITIONS
    assert {"calculate", "set_tier", DISCOVERY, "jira_155", "jira_31"} <= {*names(shown.specs)}
    assert "jira_30" not in names(shown.specs)
    narrow = names(present([*base, *many], "XL", Presentation(strategy, 3, WIDE)).specs)
    assert {*narrow} == {DISCOVERY, "calculate", "jira_155"}, "half of the limits at most"


def test_nothing_is_promised_of_a_search_that_is_not_there() -> None:
    hidden = [candidate(f"tool_{number}", number) for number in range(30)]
    for size in SIZES:
        assert DISCOVERY not in present(hidden, size, Presentation("top_k", 3, WIDE)).hint
    giant = Candidate(card(DISCOVERY, 9_000, "info"), True, 9, True)
    assert DISCOVERY not in present([giant, *hidden], "S", PRESENTATIONS["S"]).hint.partition(":")[0]
    assert present([giant, *hidden], "L", Presentation("reorder", 3, 500)).hint == "Kinds of tools here: info."


def test_signs_that_are_a_token_each_weigh_as_much() -> None:
    korean = [Candidate(card_of(f"tool_{number}", "날씨를 알려 줍니다 " * 30), True, number) for number in range(80)]
    for size in SIZES:
        shown = present(korean, size, PRESENTATIONS[size])
        wide = sum("가" <= sign <= "힣" for spec in shown.specs for sign in spec.description)
        assert 0 < wide <= shown.tokens <= PRESENTATIONS[size].most_tokens
    assert tokens([card_of("a", "날씨").spec("S")]) - tokens([card_of("a", "").spec("S")]) == 2
    assert tokens([card_of("a", "wxyz" * 5).spec("S")]) - tokens([card_of("a", "").spec("S")]) == 5


def card_of(name: str, description: str) -> ToolCard:
    return ToolCard(name, {size: ToolText(description, STUB) for size in SIZES})


def test_the_names_of_the_others_come_in_a_stable_order() -> None:
    some = [candidate(f"tool_{number}", relevance=number % 7, selected=False) for number in range(15)]
    others = [each._replace(relevance=-each.relevance) for each in some]
    first, second = (present(each, "S", replace(PRESENTATIONS["S"], most_tools=1)) for each in (some, others))
    assert [*first.names] != sorted(first.names) and "tool_0, tool_1, tool_2" in first.hint
    assert "tool_2, tool_3, tool_4" in second.hint


def test_full_shows_the_selected_in_stable_order_and_drops_the_least_relevant() -> None:
    tools = [candidate("a", 1), candidate("b", 3), candidate("c", 9, selected=False), candidate("d", 2)]
    assert names(present(tools, "XL", PRESENTATIONS["XL"]).specs) == ["a", "b", "d"]
    assert names(present(tools, "XL", Presentation("full", 2, WIDE)).specs) == ["b", "d"]
    assert present(tools, "XL", PRESENTATIONS["XL"]).hint == ""


def test_hybrid_shows_stubs_of_all_others() -> None:
    shown = present(eighty(), "S", Presentation("hybrid", 8, WIDE))
    detailed, stubs = shown.specs[:8], shown.specs[8:]
    assert names(detailed) == [f"synthetic_tool_{number}" for number in range(78, 70, -1)]
    assert all(each.description for each in detailed)
    assert len(stubs) == 72 and all(each == ToolSpec(each.name, "", STUB) for each in stubs)


def test_stubs_end_where_providers_do_and_leave_the_search() -> None:
    shown = present([*eighty(), *(candidate(f"more_{number}") for number in range(200))], "S", PRESENTATIONS["S"])
    assert len(shown.specs) <= 8
    shown = present(
        [*eighty(), *(candidate(f"more_{number}", -1) for number in range(200))], "S", Presentation("hybrid", 8, WIDE)
    )
    assert len(shown.specs) == MOST_DEFINITIONS and shown.specs[0].name == DISCOVERY and shown.specs[0].description
    assert sum(bool(each.description) for each in shown.specs) == 8


@given(
    lengths=st.lists(st.integers(0, 2_000), max_size=30),
    most_tools=st.integers(1, 12),
    most_tokens=st.integers(0, 2_000),
    strategy=st.sampled_from(sorted({*get_args(Strategy)} - {"hybrid"})),
    size=st.sampled_from(SIZES),
)
def test_no_limit_is_passed(
    lengths: list[int], most_tools: int, most_tokens: int, strategy: Strategy, size: Size
) -> None:
    tools = [candidate(f"tool_{at}", at % 5, at % 3 > 0, length) for at, length in enumerate(lengths)]
    shown = present(tools, size, Presentation(strategy, most_tools, most_tokens))
    assert len(shown.specs) <= most_tools and tokens(shown.specs) <= most_tokens
    assert not shown.specs or shown.tokens <= most_tokens
    assert len({*names(shown.specs), *shown.names}) == len(shown.specs) + len(shown.names)


def read(**presentation: object) -> dict[Size, Presentation]:
    document = json.dumps({"tools": {"presentation": presentation}}, indent=1)
    tools = jsonfile.parse(document, "runtime-config.json").root().child("tools")
    assert tools is not None
    return dict(read_presentations(tools))


def test_the_owner_says_for_each_size_what_differs() -> None:
    nothing = jsonfile.parse("{}", "runtime-config.json").root()
    assert read_presentations(nothing) == read() == read(S={}) == PRESENTATIONS
    assert read(S={"strategy": "hybrid"}, XL={"maxTools": 7, "maxTokens": 900}) == {
        "S": Presentation("hybrid", 8, 800),
        "M": PRESENTATIONS["M"],
        "L": PRESENTATIONS["L"],
        "XL": Presentation("full", 7, 900),
    }


@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_every_strategy_can_be_chosen_by_its_name(strategy: Strategy) -> None:
    assert read(M={"strategy": strategy})["M"] == Presentation(strategy, 12, 2_000)


@pytest.mark.parametrize(
    ("presentation", "line", "reason"),
    [
        ({"XXL": {}}, 4, "tools.presentation.XXL is no size class: there are S, M, L, XL"),
        ({"s": {}}, 4, "tools.presentation.s is no size class"),
        ({"S": {"strategy": "best"}}, 5, "tools.presentation.S.strategy must be one of top_k, reorder, full, hybrid"),
        ({"S": {"strategy": 3}}, 5, "tools.presentation.S.strategy must be a text"),
        (
            {"S": {}, "M": {"tools": 3}},
            6,
            "tools.presentation.M.tools is unknown: there are strategy, maxTools, maxTokens",
        ),
        ({"S": {"maxTools": 0}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTools": "8"}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTools": True}}, 5, "tools.presentation.S.maxTools must be a whole number above 0"),
        ({"S": {"maxTokens": -1}}, 5, "tools.presentation.S.maxTokens must be a whole number of tokens above 0"),
        ({"S": {"maxTokens": 1.5}}, 5, "tools.presentation.S.maxTokens must be a whole number of tokens above 0"),
        ({"S": 8}, 4, "tools.presentation.S"),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_line(presentation: dict[str, object], line: int, reason: str) -> None:
    with pytest.raises(ConfigError) as found:
        read(**presentation)
    assert str(found.value).startswith(f"runtime-config.json line {line}: {reason}")

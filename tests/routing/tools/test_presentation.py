"""The tool definitions for a model of each size, with eighty tools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from routing.config.presentation import MAX_DEFINITIONS, PRESENTATIONS, STRATEGIES, Presentation, Strategy
from routing.tools.presentation import ASK_FOR_CALLS, DISCOVERY, STUB, Candidate, Shown, present
from routing.types.decisions import SIZES
from routing.types.llm import ToolSpec
from tests.routing.tools.cards import WIDE, candidate, card, eighty, names, on_the_wire


def test_a_small_model_gets_few_tools_other_names_and_an_instruction() -> None:
    shown = present(eighty(), "S", PRESENTATIONS["S"])
    assert PRESENTATIONS["S"].most_tools <= 8
    assert on_the_wire(shown) <= 800
    assert names(shown.specs) == [*(f"synthetic_tool_{number}" for number in range(78, 71, -1)), DISCOVERY]
    assert len(shown.names) == 72
    assert {*shown.names} | {*names(shown.specs)} == {each.card.name for each in eighty()}
    assert shown.hint.startswith(f"More tools, to be found with {DISCOVERY}: synthetic_tool_")
    assert "synthetic_tool_71, … and 37 more." in shown.hint, "the most relevant ones, in their stable order"
    assert shown.hint.endswith(ASK_FOR_CALLS)
    assert "\n" not in shown.hint
    assert all(spec.description.startswith("S ") for spec in shown.specs)


def test_other_models_are_not_asked_to_call() -> None:
    shown = present(eighty(), "M", PRESENTATIONS["M"])
    assert 8 <= len(shown.specs) <= 12
    assert ASK_FOR_CALLS not in shown.hint
    assert DISCOVERY in names(shown.specs)


def test_few_tools_need_no_name_list() -> None:
    few = [candidate("weather"), candidate("alarm", 1)]
    assert present(few, "M", PRESENTATIONS["M"]) == Shown((few[1].card.spec("M"), few[0].card.spec("M")))
    assert present(few, "S", PRESENTATIONS["S"]).hint == ASK_FOR_CALLS


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


def test_base_tools_compete_for_small_models() -> None:
    base = [candidate(name, -9, selected=False)._replace(base=True) for name in ("calculate", "set_tier", DISCOVERY)]
    others = [candidate(f"tool_{number}", -2 - number / 99, selected=False) for number in range(20)]
    tools = [*base, candidate("weather", -5), *others]
    likeliest: tuple[Strategy, ...] = ("top_k", "hybrid")
    for strategy in likeliest:
        told = names(present(tools, "S", Presentation(strategy, 8, WIDE)).specs)[:8]
        assert {"weather", "tool_0", "tool_5"} <= {*told}
        assert not {"calculate", "set_tier"} & {*told}
    sums = [base[0]._replace(relevance=4), *tools[1:]]
    assert names(present(sums, "S", PRESENTATIONS["S"]).specs)[:2] == ["weather", "calculate"]
    shown = [
        present(tools, "L", Presentation(strategy, 8, WIDE))
        for strategy in STRATEGIES
        if strategy not in (*likeliest, "all")
    ]
    assert [{*names(each.specs)} for each in shown] == [{"weather", "calculate", "set_tier", DISCOVERY}] * 2


def test_reorder_shows_selected_tools_and_all_categories() -> None:
    shown = present(eighty(selected=5), "L", PRESENTATIONS["L"])
    assert names(shown.specs) == [*(f"synthetic_tool_{number}" for number in range(78, 73, -1)), DISCOVERY]
    assert shown.hint == f"Kinds of tools here: info, files, home. {DISCOVERY} finds those that you do not see."
    assert present(eighty(selected=1), "L", PRESENTATIONS["L"]).hint == shown.hint, "prompt caches live on that"


@pytest.mark.parametrize("strategy", ["reorder", "full"])
def test_base_tools_stay_beside_likelier_ones(strategy: Strategy) -> None:
    base = [candidate(name, -9)._replace(base=True) for name in ("calculate", "set_tier", DISCOVERY)]
    many = [candidate(f"jira_{number}", number) for number in range(156)]
    shown = present([*base, *many], "XL", Presentation(strategy, 500, WIDE))
    assert len(shown.specs) == MAX_DEFINITIONS
    assert {"calculate", "set_tier", DISCOVERY, "jira_155", "jira_31"} <= {*names(shown.specs)}
    assert "jira_30" not in names(shown.specs)
    narrow = names(present([*base, *many], "XL", Presentation(strategy, 3, WIDE)).specs)
    assert {*narrow} == {DISCOVERY, "calculate", "jira_155"}, "half of the limits at most"


def test_a_missing_discovery_tool_is_not_mentioned() -> None:
    hidden = [candidate(f"tool_{number}", number) for number in range(30)]
    for size in SIZES:
        assert DISCOVERY not in present(hidden, size, Presentation("top_k", 3, WIDE)).hint
    giant = Candidate(card(DISCOVERY, 9_000, "info"), True, 9, True)
    assert DISCOVERY not in present([giant, *hidden], "S", PRESENTATIONS["S"]).hint.partition(":")[0]
    assert present([giant, *hidden], "L", Presentation("reorder", 3, 500)).hint == "Kinds of tools here: info."


def test_the_name_list_has_a_stable_order() -> None:
    some = [candidate(f"tool_{number}", relevance=number % 7, selected=False) for number in range(15)]
    others = [each._replace(relevance=-each.relevance) for each in some]
    first, second = (present(each, "S", replace(PRESENTATIONS["S"], most_tools=1)) for each in (some, others))
    assert [*first.names] != sorted(first.names)
    assert "tool_0, tool_1, tool_2" in first.hint
    assert "tool_2, tool_3, tool_4" in second.hint


def test_full_shows_selected_tools_in_stable_order() -> None:
    tools = [candidate("a", 1), candidate("b", 3), candidate("c", 9, selected=False), candidate("d", 2)]
    assert names(present(tools, "XL", PRESENTATIONS["XL"]).specs) == ["a", "b", "d"]
    assert names(present(tools, "XL", Presentation("full", 2, WIDE)).specs) == ["b", "d"]
    assert present(tools, "XL", PRESENTATIONS["XL"]).hint == ""


def test_hybrid_shows_stubs_of_all_others() -> None:
    shown = present(eighty(), "S", Presentation("hybrid", 8, WIDE))
    detailed, stubs = shown.specs[:8], shown.specs[8:]
    assert names(detailed) == [f"synthetic_tool_{number}" for number in range(78, 70, -1)]
    assert all(each.description for each in detailed)
    assert len(stubs) == 72
    assert all(each == ToolSpec(each.name, "", STUB) for each in stubs)


def test_all_shows_every_tool_for_any_message() -> None:
    tools = [candidate("a", -9, selected=False), candidate("b", 3), candidate("c", -5, selected=False)]
    assert names(present(tools, "S", Presentation("all", 1, 1)).specs) == ["a", "b", "c"]
    many = [candidate(f"t{number}", number, selected=False) for number in range(200)]
    shown = names(present(many, "XL", Presentation("all", 1, 1)).specs)
    assert shown == [f"t{number}" for number in range(72, 200)], "what a provider takes, in stable order"

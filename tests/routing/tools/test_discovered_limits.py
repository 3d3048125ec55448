"""Which tools of a turn stay when others are added."""

from __future__ import annotations

import math

import pytest

from routing.tools.discovered import DiscoveredTools
from routing.tools.presentation import DISCOVERY, Shown
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard, ToolText
from tests.routing.tools.fakes import card, toolkit
from tests.routing.tools.turn_tools import BASE, EMPTY, LARGE, names, run, searching, turn


@pytest.mark.parametrize(
    ("hint", "words", "left"),
    [
        ("", 900, ["likely", "calculate", DISCOVERY, "called"]),
        ("", 1_125, ["likely", "calculate", DISCOVERY]),
        ("x" * 41_297, 900, ["calculate", DISCOVERY]),
    ],
)
def test_discovery_and_base_tools_always_stay(hint: str, words: int, left: list[str]) -> None:
    called = ToolCard("called", dict.fromkeys(SIZES, ToolText("word" * words, EMPTY)))
    cards = {each.name: each for each in (searching(), card("calculate"), card("likely"), called)}
    worth = {DISCOVERY: math.inf, "calculate": math.inf}
    discovered = DiscoveredTools(cards, lambda name: worth.get(name, 0.0))
    begun = Shown(tuple(cards[name].spec("S") for name in ("likely", "calculate", DISCOVERY)), hint=hint)
    discovered.called("called", undefined=True)
    assert [spec.name for spec in discovered.extend(begun, "S", 800).specs] == left


async def test_category_lists_leave_space_for_tools() -> None:
    kits = [toolkit(f"kit{at}", card(f"tool_{at}", category=f"a kind of tools, the {at}th")) for at in range(1_000)]
    tools = await turn("x", (BASE, *kits), {"x": {"kit7": 3.0}, "more": {"kit8": 3.0}})
    for _ in range(3):
        assert {"calculate", "set_tier", DISCOVERY, "tool_7"} <= {*names(tools, LARGE, 32_000)}
        assert tools.offer(LARGE, tools.begin_call(LARGE, 32_000)).tokens <= 4_000
        await run(tools, "tool_500", size="L")

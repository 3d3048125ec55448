"""The tools that a search adds to a turn, and its limits."""

from __future__ import annotations

import logging

import pytest

from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.config.presentation import MAX_DEFINITIONS
from routing.errors import ToolFailed
from routing.tools.discovered import MAX_FOUND
from routing.tools.offer import DESCRIBED_CHARACTERS, MAX_NAMED, TurnTools
from routing.tools.presentation import DISCOVERY
from routing.tools.selector import ToolSelection
from routing.types.decisions import SIZES, Size
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import Traits
from tests.routing.tools.fakes import card, toolkit
from tests.routing.tools.turn_tools import (
    ABOUT,
    BASE,
    EMPTY,
    FEW,
    HUGE,
    KITS,
    LARGE,
    MEDIUM,
    NOTES,
    SMALL,
    WEATHER,
    WINDOW,
    ScriptedSelector,
    echo,
    models,
    names,
    run,
    turn,
)


@pytest.mark.parametrize("model", [SMALL, HUGE])
async def test_within_a_turn_definitions_are_only_appended(model: str) -> None:
    tools = await turn(found={**ABOUT, "note": {"notes": 3.0}})
    size: Size = "S" if model == SMALL else "XL"
    first = tools.begin_call(model, 4_000).specs
    tools.begin_call(LARGE, WINDOW)
    await tools.discover("note", size)
    second = tools.begin_call(model, 4_000).specs
    assert second[: len(first)] == first
    assert len(second) > len(first)
    await run(tools, "list_events", size=size)
    third = tools.begin_call(model, 4_000).specs
    assert third[: len(second)] == second
    assert len({spec.name for spec in third}) == len(third)
    assert "list_events" in {spec.name for spec in third}
    assert (
        tools.begin_call(model, 4_000).hint
        == (await turn(found={**ABOUT, "note": {"notes": 3.0}})).begin_call(model, 4_000).hint
    )


async def test_discovery_adds_what_it_finds_for_the_rest_of_the_turn() -> None:
    tools = await turn()
    assert not {"create_event", "list_events"} & {*names(tools, HUGE)}
    said = await run(tools, DISCOVERY, '{"query": "meet?"}')
    assert said.splitlines() == [
        "Found, and to be called like the tools that you see:",
        "- create_event: M: create_event",
        "- list_events: M: list_events",
    ]
    assert names(tools, HUGE)[-2:] == ["create_event", "list_events"]
    assert "There are no" not in await run(tools, DISCOVERY, '{"query": "meet?"}'), "there are notes still"


async def test_discovery_never_finds_what_is_shown_already() -> None:
    tools = await turn()
    names(tools, HUGE)
    assert "get_weather" not in await tools.discover("rain?")


async def test_discovery_uses_the_current_models_view() -> None:
    tools = await turn(of=models(FEW))
    assert "weather_alerts" in names(tools, HUGE)
    assert names(tools, SMALL) == [
        "get_weather",
        "weather_alerts",
        DISCOVERY,
    ]
    found = await run(tools, DISCOVERY, '{"query": "sum?"}', "S")
    assert "calculate" in found
    assert names(tools, SMALL)[-2:] == ["calculate", "set_tier"]
    assert names(tools, HUGE).count("calculate") == 1


async def test_discovery_is_honest_when_nothing_fits() -> None:
    tools = await turn()
    names(tools, HUGE)
    before = names(tools, HUGE)
    assert (await tools.discover("fly to the moon")).splitlines()[1:] == [
        "- calendar: All about calendar.",
        "- notes: All about notes.",
    ]
    assert names(tools, HUGE) == before, "what does not fit is not added"


async def test_of_many_toolkits_that_do_not_fit_some_are_named() -> None:
    kits = [toolkit(f"kit_{at}", card(f"tool_{at}")) for at in range(MAX_NAMED + 7)]
    tools = await turn(toolkits=(BASE, *kits))
    names(tools, HUGE)
    lines = (await tools.discover("fly to the moon")).splitlines()
    assert len(lines) == MAX_NAMED + 2
    assert lines[-1] == "… and 7 more."


async def test_discovery_is_honest_when_nothing_is_left() -> None:
    tools = await turn(toolkits=(BASE, WEATHER))
    names(tools, HUGE)
    assert await tools.discover("meet?") == "There are no other tools than those that you see."


async def test_discovery_returns_a_few_best_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text = ToolText("word " * 100, EMPTY)
    many = toolkit("many", *(ToolCard(f"tool_{at}", dict.fromkeys(SIZES, text)) for at in range(MAX_FOUND + 1)))
    tools = await turn(toolkits=(BASE, NOTES, many), found={"many": {"notes": 1.0, "many": 2.0}})
    names(tools, HUGE)
    lines = (await tools.discover("many")).splitlines()[1:]
    assert [line.split(":")[0] for line in lines] == [f"- tool_{at}" for at in range(MAX_FOUND)]
    assert all(len(line) <= DESCRIBED_CHARACTERS + len("- tool_0: …") and line.endswith("…") for line in lines)
    assert "[ToolRouter] discover_tools found tool_0, tool_1, " in caplog.text


def long_tools(name: str, count: int, tokens_each: int) -> Toolkit:
    text = ToolText("word" * tokens_each, EMPTY)
    return toolkit(name, *(ToolCard(f"{name}_{at}", dict.fromkeys(SIZES, text)) for at in range(count)))


@pytest.mark.parametrize(("model", "size", "most"), [(SMALL, "S", 800), (MEDIUM, "M", 1_024), (HUGE, "XL", 1_024)])
async def test_discovered_tools_have_a_limit(model: str, size: Size, most: int) -> None:
    kits = [long_tools(f"kit{at}", 14, 100) for at in range(6)]
    tools = await turn("x", (BASE, WEATHER, *kits), {f"kit{at}": {f"kit{at}": 3.0} for at in range(6)})
    names(tools, model, 8_192)
    found: list[str] = []
    for at in range(6):
        before = names(tools, model, 8_192)
        await tools.discover(f"kit{at}", size)
        after = names(tools, model, 8_192)
        assert 0 < tools.offer(model, tools.begin_call(model, 8_192)).tokens <= 1.5 * most
        assert DISCOVERY in after
        new = [name for name in after if name not in before]
        assert 0 < len(new) <= MAX_FOUND
        assert all(name.startswith(f"kit{at}_") for name in new)
        assert found or after[: len(before)] == before, "as long as all of it fits"
        found += new
    assert found[0] not in after, "the oldest goes first"


async def test_called_tools_stay_when_others_are_dropped() -> None:
    kits = [long_tools(f"kit{at}", 6, 100) for at in range(4)]
    tools = await turn("x", (BASE, *kits), {f"kit{at}": {f"kit{at}": 3.0} for at in range(4)})
    names(tools, HUGE, 8_192)
    await tools.discover("kit0")
    names(tools, HUGE, 8_192)
    await run(tools, "kit0_1", "{}")
    for at in (1, 2, 3):
        await tools.discover(f"kit{at}")
        names(tools, HUGE, 8_192)
    left = names(tools, HUGE, 8_192)
    assert "kit0_1" in left
    assert "kit0_0" not in left


async def test_a_too_large_definition_is_found_but_not_added() -> None:
    giant = long_tools("giant", 1, 900)
    tools = await turn("x", (BASE, giant), {"giant": {"giant": 3.0}})
    names(tools, SMALL, 8_192)
    assert "- giant_0: " in await tools.discover("giant", "S")
    assert "giant_0" not in names(tools, SMALL, 8_192)


async def test_a_provider_never_gets_more_definitions_than_it_takes() -> None:
    jira, notes = (toolkit(name, *(card(f"{name}_{at}") for at in range(156))) for name in ("jira", "more"))
    found = {"issue": {"jira": 3.0}, "more": {"more": 3.0}}
    tools = await turn("issue", (BASE, jira, notes), found)
    for model in (LARGE, HUGE):
        assert {"calculate", "set_tier", DISCOVERY, "jira_0"} <= {*names(tools, model)}
    assert len(names(tools, HUGE)) == MAX_DEFINITIONS
    await run(tools, "jira_155")
    await tools.discover("more")
    after = names(tools, HUGE)
    assert len(after) == MAX_DEFINITIONS
    assert {"calculate", "set_tier", DISCOVERY, "jira_0", "jira_155", "more_0", "more_4"} <= {*after}
    assert "jira_124" not in after, "the least relevant that was not called"


async def test_stubs_give_way_to_discovered_tools() -> None:
    many = toolkit("many", *(card(f"tool_{at}") for at in range(212)))
    config = models({"tools": {"presentation": {"S": {"strategy": "hybrid"}}}})
    tools = await turn(toolkits=(*KITS, many), found={**ABOUT, "many": {"many": 3.0}}, of=config)
    assert len(names(tools, SMALL)) == MAX_DEFINITIONS
    await tools.discover("many", "S")
    assert len(names(tools, SMALL)) == MAX_DEFINITIONS == len({*names(tools, SMALL)})
    assert tools.offer(SMALL, tools.begin_call(SMALL, WINDOW)).shown > 8


@pytest.mark.parametrize("query", ["create_event", "create event", "the tool createEvent, please", "Create_Event"])
async def test_discovery_finds_tools_by_name(query: str) -> None:
    """A small model sees only the names of the other tools."""
    tools = await turn("hello")
    assert "create_event" not in names(tools, SMALL)
    said = await tools.discover(query, "S")
    assert said.splitlines()[1:] == ["- create_event: M: create_event"]
    assert "create_event" in names(tools, SMALL)


async def test_discovery_returns_likely_tools_if_none_is_certain() -> None:
    """A search always needs tools, so the small-talk classifier does not apply."""
    found = {"something for Friday": {"calendar": -1.0, "notes": -2.0, "weather": -3.0}}
    said = await (await turn("hello", found=found)).discover("something for Friday")
    listed = [line[2:].partition(":")[0] for line in said.splitlines()[1:]]
    assert listed == ["create_event", "list_events", "take_note"]


async def test_a_schema_shown_to_a_model_is_truncated() -> None:
    long = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3_000)}}
    big = ToolCard("change_all", {size: ToolText("Change.", long) for size in SIZES})
    kits = (*KITS, Toolkit("big", "Big.", "", tools=(big,)))
    tool = Tool(big.name, echo, traits=Traits(changes=True))
    box = Toolbox(BuiltinSource([BoundToolkit(kits[-1], [tool])]))
    tools = TurnTools(box, ScriptedSelector(ABOUT, kits), models(), kits, ToolSelection())
    tools.begin_call(SMALL, WINDOW)
    with pytest.raises(ToolFailed, match="was not run yet") as refused:
        await run(tools, "change_all", size="S")
    assert 1_000 < len(str(refused.value)) < 3_400

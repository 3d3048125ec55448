"""The tools of a turn: which are shown and callable for each model, and calls by name alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.errors import BadArguments, ToolFailed
from routing.tools.offer import ToolOffer, TurnTools
from routing.tools.presentation import DISCOVERY, tokens
from routing.tools.selector import Activated, ToolSelection
from routing.turn.tool_executor import ToolExecutor
from routing.types.decisions import SIZES, Size
from routing.types.llm import ToolCall
from routing.types.model_names import LOCAL_MODEL
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope, Traits
from tests.routing.tools.fakes import card, toolkit
from tests.routing.tools.turn_tools import (
    BASE,
    CALENDAR,
    EMPTY,
    FEW,
    HUGE,
    KITS,
    LARGE,
    MEDIUM,
    SMALL,
    WEATHER,
    WINDOW,
    ScriptedSelector,
    echo,
    models,
    names,
    run,
    scope,
    searching,
    turn,
)

MORE = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


async def test_a_large_model_gets_selected_tools_in_stable_order() -> None:
    tools = await turn()
    base = ["calculate", "set_tier", DISCOVERY]
    assert names(tools, HUGE) == [*base, "get_weather", "weather_alerts"]
    assert names(tools, LARGE) == ["get_weather", "weather_alerts", *base]
    assert (
        tools.begin_call(LARGE, WINDOW).hint
        == f"Kinds of tools here: info, time. {DISCOVERY} finds those that you do not see."
    )
    assert tools.selection.activated == (Activated("weather", "embed", 0.65),)


async def test_a_small_model_gets_the_likeliest_tools_and_the_other_names() -> None:
    many = toolkit("many", *(card(f"tool_{number}") for number in range(20)))
    tools = await turn(toolkits=(*KITS, many))
    shown = tools.begin_call(SMALL, WINDOW)
    told = [spec.name for spec in shown.specs]
    assert told[:2] == ["get_weather", "weather_alerts"]
    assert told[-1] == DISCOVERY
    assert len(told) <= 8
    assert {*told} | {*shown.names} == {each.name for kit in (*KITS, many) for each in kit.tools}
    assert all(spec.description.startswith("S: ") for spec in shown.specs)


@pytest.mark.parametrize(("model", "size"), [(SMALL, "S"), (MEDIUM, "M"), (LARGE, "L"), (HUGE, "XL")])
async def test_every_model_gets_texts_of_its_size_also_mid_turn(model: str, size: Size) -> None:
    tools = await turn()
    for other in (HUGE, SMALL):
        tools.begin_call(other, WINDOW)
    shown = tools.begin_call(model, WINDOW)
    assert shown.specs
    assert all(spec.description.startswith(f"{size}: ") for spec in shown.specs)
    assert tools.offer(model, tools.begin_call(model, WINDOW)).size == size


async def test_without_hidden_toolkits_there_is_no_discovery_tool() -> None:
    assert names(await turn(toolkits=(BASE,)), HUGE) == ["calculate", "set_tier"]


async def test_a_stub_is_replaced_by_its_definition() -> None:
    hybrid = {"tools": {"presentation": {"S": {"strategy": "hybrid", "maxTools": 4}}}}
    tools = await turn(of=models(hybrid))
    assert [spec.name for spec in tools.begin_call(SMALL, WINDOW).specs if not spec.description]
    await run(tools, "take_note", size="S")
    notes = [spec for spec in tools.begin_call(SMALL, WINDOW).specs if spec.name == "take_note"]
    assert [each.description for each in notes] == ["S: take_note"]
    assert tools.offer(SMALL, tools.begin_call(SMALL, WINDOW)).shown == 5


async def test_a_tool_known_only_by_name_runs_and_is_then_defined() -> None:
    tools = await turn(of=models(FEW))
    assert "take_note" not in names(tools, SMALL)
    assert "take_note" in tools.begin_call(SMALL, WINDOW).names
    assert await run(tools, "take_note", size="S") == '{"city": "Rome"}'
    assert names(tools, SMALL)[-1] == "take_note"
    assert "take_note" in names(tools, HUGE), "for the next model, too"


async def ran_by(executor: ToolExecutor, calls: Sequence[ToolCall], given: ToolScope) -> list[str]:
    """The results of the calls, in order, as the model sees them."""
    results = executor.not_run(calls)
    await executor.run(calls, given, 30, results)
    return [each.content for each in results]


async def test_wrong_arguments_return_the_schema_for_a_retry() -> None:
    tools = await turn(of=models(FEW))
    tools.begin_call(SMALL, WINDOW)
    executor = ToolExecutor(tools, 9, 9_000)
    tries = ['{"town": "Rome"}', '{"city": "Rome"}', '{"town": "Rome"}']
    calls = [ToolCall(str(at), "take_note", arguments) for at, arguments in enumerate(tries)]
    results = await ran_by(executor, calls[:1], scope("S"))
    assert results[0].startswith("Error: ")
    assert '"city": {"type": "string"}' in results[0]
    assert names(tools, SMALL)[-1] == "take_note"
    results = await ran_by(executor, calls[1:2], scope("S"))
    assert results[0] == '{"city": "Rome"}'
    results = await ran_by(executor, calls[2:], scope("S"))
    assert "go on without take_note" in results[0]


async def test_visible_tools_are_not_added_again() -> None:
    tools = await turn(of=models(FEW))
    before = tools.begin_call(HUGE, WINDOW), tools.begin_call(SMALL, WINDOW)
    await run(tools, "calculate")
    assert (tools.begin_call(HUGE, WINDOW), tools.begin_call(SMALL, WINDOW)) == before


async def test_disabled_tools_are_neither_shown_nor_run() -> None:
    tools = await turn(toolkits=(BASE, CALENDAR), off=(WEATHER,))
    for model in (SMALL, HUGE):
        shown = tools.begin_call(model, WINDOW)
        assert not {"get_weather", "weather_alerts"} & {*(spec.name for spec in shown.specs), *shown.names}
    with pytest.raises(ToolFailed, match=r"switched off weather. Only they can switch it on: /tools on weather"):
        await run(tools, "get_weather")
    assert "get_weather" not in await tools.discover("rain?")
    assert "get_weather" not in names(tools, HUGE)


async def test_forbidden_tools_are_not_added() -> None:
    tools = await turn()
    tools.begin_call(HUGE, WINDOW)
    with pytest.raises(ToolFailed, match="There is no tool host_open here"):
        await run(tools, "host_open")
    assert "host_open" not in names(tools, HUGE)


def eighty() -> tuple[Toolkit, ...]:
    """Eighty tools with texts as long as ours."""
    texts = {size: ToolText(f"{size} " + "does it well " * 4 * (at + 1), MORE) for at, size in enumerate(SIZES)}
    kits = [
        toolkit(f"kit_{kit}", *(ToolCard(f"synthetic_tool_{kit}_{at}", texts) for at in range(10))) for kit in range(7)
    ]
    return (toolkit("basics", *(card(f"base_{at}") for at in range(9)), searching(), base=True), *kits)


async def test_eighty_tools_keep_the_limits_of_every_size() -> None:
    found = {"all": {f"kit_{at}": 3.0 for at in range(7)}}
    tools = await turn("all", eighty(), found)
    for model, most, room in ((SMALL, 8, 800), (MEDIUM, 12, 2_000), (LARGE, 40, 8_000), (HUGE, 128, 32_000)):
        offer = tools.offer(model, tools.begin_call(model, WINDOW))
        assert 0 < offer.shown <= most
        assert 0 < offer.tokens <= room
        assert offer.total == 80
    assert tools.whole(SMALL) > 3 * 800
    assert tools.whole(HUGE) == tokens([each.spec("XL") for kit in eighty() for each in kit.tools])


@pytest.mark.parametrize("model", [SMALL, MEDIUM, LARGE, HUGE])
async def test_definitions_take_an_eighth_of_a_small_window(model: str) -> None:
    tools = await turn("all", eighty(), {"all": {f"kit_{at}": 3.0 for at in range(7)}})
    offer = tools.offer(model, tools.begin_call(model, 4_096))
    assert offer.shown
    assert offer.tokens <= 512 < tools.offer(model, tools.begin_call(model, WINDOW)).tokens


async def test_the_owners_limits_apply() -> None:
    config = {"tools": {"presentation": {"XL": {"strategy": "top_k", "maxTools": 2}}}}
    shown = (await turn(of=models(config))).begin_call(HUGE, WINDOW)
    assert [spec.name for spec in shown.specs] == ["get_weather", DISCOVERY]
    assert "create_event" in shown.hint


async def test_a_model_without_tools_gets_none_and_this_is_logged() -> None:
    tools = await turn()
    assert tools.begin_call(LOCAL_MODEL, 2_048).specs == ()
    assert tools.begin_call(LOCAL_MODEL, 2_048).hint == ""
    offer = tools.offer(LOCAL_MODEL, tools.begin_call(LOCAL_MODEL, 2_048))
    assert (offer.shown, offer.tokens, offer.takes_tools) == (0, 0, False)
    assert str(offer) == f"0/9 tools | {LOCAL_MODEL} takes no tools"


def test_the_log_line() -> None:
    activated = (Activated("weather", "keyword", 1.0), Activated("calendar", "embed", 0.5249))
    offer = ToolOffer(HUGE, "XL", 18, 35, 2_000, activated)
    assert str(offer) == "18/35 tools | activated: [weather(keyword:1.00), calendar(embed:0.52)]"
    off = ToolOffer(HUGE, "XL", 3, 35, 200, (), "EMBEDDINGS=off")
    assert str(off) == "3/35 tools | activated: [] | words only: EMBEDDINGS=off"


async def test_the_offer_contains_the_decision() -> None:
    tools = await turn(fallback_reason="the model is missing")
    offer = tools.offer(HUGE, tools.begin_call(HUGE, WINDOW))
    assert (offer.model, offer.shown, offer.total, offer.fallback_reason) == (HUGE, 5, 9, "the model is missing")
    assert offer.activated == tools.selection.activated
    assert offer.tokens == tools.begin_call(HUGE, WINDOW).tokens


async def test_destructive_tools_need_a_known_schema() -> None:
    ran: list[str] = []

    async def delete(_scope: ToolScope, **_: object) -> str:
        ran.append("deleted")
        return "deleted"

    text = ToolText("Delete all.", EMPTY)
    kit = toolkit("diary", *(ToolCard(name, dict.fromkeys(SIZES, text)) for name in ("delete_events", "count_events")))
    changing = [
        Tool("delete_events", delete, traits=Traits(parallel=False, changes=True)),
        Tool("count_events", echo),
    ]
    tools = TurnTools(
        Toolbox(BuiltinSource([BoundToolkit(kit, changing)])), ScriptedSelector({}), models(), (kit,), ToolSelection()
    )
    assert names(tools, HUGE) == []
    executor = ToolExecutor(tools, 9, 9_000)
    calls = [
        ToolCall(str(at), name, "{}") for at, name in enumerate(("delete_events", "delete_events", "count_events"))
    ]
    results = await ran_by(executor, calls, scope())
    assert not ran
    assert results[2] == "{}", "two calls in one answer are both blind"
    assert all('Its schema: {"type": "object"' in results[at] for at in (0, 1))
    assert "delete_events" in names(tools, HUGE)
    results = await ran_by(executor, calls[:1], scope())
    assert ran == ["deleted"]
    assert results[0] == "deleted"


async def test_a_too_long_tool_runs_after_its_schema_was_returned() -> None:
    text = ToolText("Delete all. " * 9_000, EMPTY)
    kit = toolkit("diary", ToolCard("delete_events", dict.fromkeys(SIZES, text)))
    changing = Tool("delete_events", echo, traits=Traits(changes=True))
    tools = TurnTools(
        Toolbox(BuiltinSource([BoundToolkit(kit, [changing])])), ScriptedSelector({}), models(), (kit,), ToolSelection()
    )
    with pytest.raises(ToolFailed, match="Its schema"):
        await run(tools, "delete_events", "{}", "S")
    assert names(tools, SMALL) == []
    assert await run(tools, "delete_events", "{}", "S") == "{}"


async def test_a_tool_runs_as_its_source_says() -> None:
    slow = Traits(parallel=False, changes=True, seconds=7)
    box = Toolbox(BuiltinSource([BoundToolkit(WEATHER, [Tool("get_weather", echo, traits=slow)])]))
    tools = TurnTools(box, ScriptedSelector({}), models(), (WEATHER,), ToolSelection())
    assert tools.traits("get_weather") == slow
    tools.begin_call(SMALL, WINDOW)
    with pytest.raises(BadArguments):
        await run(tools, "get_weather", "{}", "S")

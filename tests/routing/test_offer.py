"""The tools of a turn: what a message is about in its conversation, what each model is shown, may call and finds."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from handlers.tools.shelf import OurShelves, Shelf
from handlers.tools.tool import Tool
from handlers.tools.toolbox import Toolbox
from routing import jsonfile
from routing.additions import MOST_FOUND
from routing.calls import ToolCall
from routing.catalog import BUNDLED, Catalog
from routing.chooser import Activated, ToolChooser, ToolSelection
from routing.config import read_config
from routing.errors import BadArguments, ToolFailed
from routing.models import LOCAL_MODEL, Models
from routing.offer import DESCRIBED_CHARS, FOLLOW_UP_CHARS, MOST_NAMED, ToolOffer, TurnTools, select
from routing.outcome import ToolScope, Traits
from routing.presentation import DISCOVERY, MOST_DEFINITIONS, tokens
from routing.rounds import ToolRounds
from routing.sizes import SIZES, Size
from routing.toolkits import ToolCard, Toolkit, ToolText
from routing.types import Person, TierDecision
from tests.routing.choosing import FakeVectors, card, toolkit

SMALL, MEDIUM, LARGE, HUGE = (
    *("openai/llama-3.2-1b", "openai/qwen2.5-7b-instruct"),
    *("openai/qwen2.5-32b-instruct", "openai/gpt-5.2"),
)
WINDOW = 128_000
LONG = "x" * (FOLLOW_UP_CHARS + 1)
EMPTY = {"type": "object", "properties": {}}
MORE = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


def searching() -> ToolCard:
    """The way to other tools."""
    query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return ToolCard(DISCOVERY, {size: ToolText(f"{size}: Find more.", query) for size in SIZES})


WEATHER = toolkit("weather", card("get_weather", category="info"), card("weather_alerts", category="info"))
CALENDAR = toolkit("calendar", card("create_event", category="time"), card("list_events", category="time"))
NOTES = toolkit("notes", card("take_note"), card("find_note"))
BASE = toolkit("basics", card("calculate"), card("set_tier"), searching(), base=True)
KITS = (BASE, WEATHER, CALENDAR, NOTES)

Found = Mapping[str, Mapping[str, float]]
"""The odds of each toolkit, by message; the others have hardly any."""


class Told(ToolChooser):
    """Chooses as it is told."""

    def __init__(self, found: Found, toolkits: Sequence[Toolkit] = KITS, doubt: str = "") -> None:
        super().__init__(lambda: tuple(toolkits), None, FakeVectors())
        self._found = found
        self._kits = {each.name: each for each in toolkits}
        self._said = doubt
        self.asked: list[str] = []

    async def choose(self, message: str) -> ToolSelection:
        self.asked.append(message)
        found = self._found.get(message, {})
        odds = {each.name: found.get(kit.name, -7.0) for kit in self._kits.values() for each in kit.tools}
        scores = {name: 0.5 if found[name] >= 1 else 0.49 for name in found if found[name] > 0}
        return ToolSelection(tuple(Activated(name, "embed", scores[name]) for name in scores), odds, self._said)


async def chosen(
    found: Found, message: str, *earlier: str, used: Iterable[str] = (), toolkits: Sequence[Toolkit] = KITS
) -> dict[str, str]:
    """How each toolkit was found."""
    selection = await select(Told(found), message, earlier, frozenset(used), toolkits)
    return {each.toolkit: each.why for each in selection.activated}


ABOUT: Found = {
    "rain?": {"weather": 3.0},
    "meet?": {"calendar": 2.0},
    "sum?": {"basics": 2.0},
    "hm?": {"notes": 0.5},
    LONG: {"notes": 1.0},
}


async def test_nobody_is_asked_what_a_blank_message_is_about() -> None:
    told = Told(ABOUT)
    assert await select(told, " ", (), frozenset(), KITS) == ToolSelection() and told.asked == []


@pytest.mark.parametrize(
    ("message", "earlier", "found"),
    [
        ("rain?", (), {"weather": "embed"}),
        ("hello", (), {}),
        ("and tomorrow?", ("rain?", "meet?"), {"weather": "follow-up"}),
        ("and tomorrow?", ("hello", "meet?"), {}),
        ("and tomorrow?", ("hm?", "meet?"), {"notes": "follow-up"}),
        ("sum?", ("rain?",), {"basics": "embed", "weather": "follow-up"}),
        ("meet?", ("rain?",), {"calendar": "embed"}),
        ("hm?", ("rain?",), {"notes": "embed"}),
        ("rain?", ("rain?",), {"weather": "embed"}),
        (LONG, ("rain?",), {"notes": "embed"}),
        (LONG[1:], ("rain?",), {"weather": "follow-up"}),
        (LONG + "y", ("rain?",), {}),
    ],
)
async def test_a_follow_up_goes_on_with_the_question_before(
    message: str, earlier: tuple[str, ...], found: Mapping[str, str]
) -> None:
    assert await chosen(ABOUT, message, *earlier) == found


async def test_what_is_not_offered_is_neither_found_nor_inherited() -> None:
    assert await chosen(ABOUT, "rain?", toolkits=(BASE, CALENDAR)) == {}
    assert await chosen(ABOUT, "and tomorrow?", "rain?", "meet?", toolkits=(BASE, CALENDAR)) == {}
    assert await chosen(ABOUT, "and tomorrow?", "meet?", toolkits=(BASE, CALENDAR)) == {"calendar": "follow-up"}


async def test_a_toolkit_whose_tools_were_called_stays() -> None:
    used = {"list_events", "calculate", "nobody_knows"}
    assert await chosen(ABOUT, "hello", used=used) == {"calendar": "used"}
    assert await chosen(ABOUT, "meet?", used=used) == {"calendar": "embed"}
    assert await chosen(ABOUT, "hello", used=used, toolkits=(BASE, WEATHER)) == {}


async def test_a_question_fades_and_a_used_tool_counts_as_likely_as_not() -> None:
    selection = await select(Told(ABOUT, doubt="OFF"), "and?", ("rain?",), {"take_note", "get_weather"}, KITS)
    odds = selection.relevance
    assert (odds["get_weather"], odds["take_note"], odds["find_note"]) == (1.0, 0.0, -7.0)
    own = await select(Told({"meet?": {"weather": -0.5}, "rain?": {"weather": 1.0}}), "meet?", ("rain?",), (), KITS)
    assert own.relevance["get_weather"] == -0.5
    assert selection.doubt == "OFF" and [each.score for each in selection.activated] == [0.5, 1.0]


def models(config: Mapping[str, Any] | None = None) -> Models:
    """The bundled catalogue."""
    return Models(read_config(jsonfile.parse(json.dumps(config or {}), "config"), {}, {}), Catalog.load(BUNDLED))


async def echo(_scope: ToolScope, **arguments: object) -> str:
    return json.dumps(arguments)


async def discover(scope: ToolScope, query: str) -> str:
    assert scope.discover is not None
    return await scope.discover(query)


def toolbox(toolkits: Sequence[Toolkit] = KITS) -> Toolbox:
    return Toolbox(
        OurShelves(
            Shelf(kit, [Tool(each.name, discover if each.name == DISCOVERY else echo) for each in kit.tools])
            for kit in toolkits
        )
    )


async def turn(
    message: str = "rain?",
    toolkits: Sequence[Toolkit] = KITS,
    found: Found = ABOUT,
    of: Models | None = None,
    off: Sequence[Toolkit] = (),
    doubt: str = "",
) -> TurnTools:
    chooser = Told(found, (*toolkits, *off), doubt)
    selection = await select(chooser, message, (), (), toolkits)
    return TurnTools(toolbox((*toolkits, *off)), chooser, of or models(), toolkits, selection, off)


def names(tools: TurnTools, model: str, window: int = WINDOW) -> list[str]:
    return [spec.name for spec in tools.shown(model, window).specs]


def scope(size: Size = "XL") -> ToolScope:
    return ToolScope(Person(1, "user", "Ann"), 1, TierDecision("balanced", "default", "default"), size=size)


async def run(tools: TurnTools, name: str, arguments: str = '{"city": "Rome"}', size: Size = "XL") -> str:
    return await tools.run(ToolCall("1", name, arguments), scope(size))


async def test_a_large_model_is_shown_what_was_chosen_in_a_stable_order() -> None:
    tools = await turn()
    base = ["calculate", "set_tier", DISCOVERY]
    assert names(tools, HUGE) == [*base, "get_weather", "weather_alerts"]
    assert names(tools, LARGE) == ["get_weather", "weather_alerts", *base]
    assert (
        tools.shown(LARGE, WINDOW).hint
        == f"Kinds of tools here: info, time. {DISCOVERY} finds those that you do not see."
    )
    assert tools.selection.activated == (Activated("weather", "embed", 0.5),)


async def test_a_small_model_is_shown_the_likeliest_and_the_names_of_all_others() -> None:
    many = toolkit("many", *(card(f"tool_{number}") for number in range(20)))
    tools = await turn(toolkits=(*KITS, many))
    shown = tools.shown(SMALL, WINDOW)
    told = [spec.name for spec in shown.specs]
    assert told[:2] == ["get_weather", "weather_alerts"] and told[-1] == DISCOVERY and len(told) <= 8
    assert {*told} | {*shown.names} == {each.name for kit in (*KITS, many) for each in kit.tools}
    assert all(spec.description.startswith("S: ") for spec in shown.specs)


@pytest.mark.parametrize(("model", "size"), [(SMALL, "S"), (MEDIUM, "M"), (LARGE, "L"), (HUGE, "XL")])
async def test_every_model_gets_the_texts_of_its_own_size_also_in_mid_turn(model: str, size: Size) -> None:
    tools = await turn()
    for other in (HUGE, SMALL):
        tools.shown(other, WINDOW)
    shown = tools.shown(model, WINDOW)
    assert shown.specs and all(spec.description.startswith(f"{size}: ") for spec in shown.specs)
    assert tools.offer(model, WINDOW).size == size


async def test_without_a_toolkit_to_be_found_there_is_no_way_to_find_one() -> None:
    assert names(await turn(toolkits=(BASE,)), HUGE) == ["calculate", "set_tier"]


@pytest.mark.parametrize("model", [SMALL, HUGE])
async def test_within_a_turn_definitions_are_only_appended(model: str) -> None:
    tools = await turn(found={**ABOUT, "note": {"notes": 3.0}})
    size: Size = "S" if model == SMALL else "XL"
    first = tools.shown(model, 4_000).specs
    tools.shown(LARGE, WINDOW)
    await tools.discover("note", size)
    second = tools.shown(model, 4_000).specs
    assert second[: len(first)] == first and len(second) > len(first)
    await run(tools, "list_events", size=size)
    third = tools.shown(model, 4_000).specs
    assert third[: len(second)] == second and len({spec.name for spec in third}) == len(third)
    assert "list_events" in {spec.name for spec in third}
    assert (
        tools.shown(model, 4_000).hint == (await turn(found={**ABOUT, "note": {"notes": 3.0}})).shown(model, 4_000).hint
    )


async def test_a_stub_becomes_a_definition_and_is_there_once() -> None:
    hybrid = {"tools": {"presentation": {"S": {"strategy": "hybrid", "maxTools": 4}}}}
    tools = await turn(of=models(hybrid))
    assert [spec.name for spec in tools.shown(SMALL, WINDOW).specs if not spec.description]
    await run(tools, "take_note", size="S")
    notes = [spec for spec in tools.shown(SMALL, WINDOW).specs if spec.name == "take_note"]
    assert [each.description for each in notes] == ["S: take_note"]
    assert tools.offer(SMALL, WINDOW).shown == 5


FEW = {"tools": {"presentation": {"S": {"maxTools": 3}}}}


async def test_a_tool_that_was_told_by_name_only_runs_and_is_defined_from_then_on() -> None:
    tools = await turn(of=models(FEW))
    assert "take_note" not in names(tools, SMALL) and "take_note" in tools.shown(SMALL, WINDOW).names
    assert await run(tools, "take_note", size="S") == '{"city": "Rome"}'
    assert names(tools, SMALL)[-1] == "take_note"
    assert "take_note" in names(tools, HUGE), "for the next model, too"


async def test_wrong_arguments_bring_the_schema_and_one_more_try() -> None:
    tools = await turn(of=models(FEW))
    tools.shown(SMALL, WINDOW)
    rounds, results = ToolRounds(tools, 9, 9_000), dict[int, str]()
    tries = ['{"town": "Rome"}', '{"city": "Rome"}', '{"town": "Rome"}']
    calls = [ToolCall(str(at), "take_note", arguments) for at, arguments in enumerate(tries)]
    await rounds.run(calls[:1], scope("S"), 30, results)
    assert results[0].startswith("Error: ") and '"city": {"type": "string"}' in results[0]
    assert names(tools, SMALL)[-1] == "take_note"
    await rounds.run(calls[1:2], scope("S"), 30, results)
    assert results[0] == '{"city": "Rome"}'
    await rounds.run(calls[2:], scope("S"), 30, results)
    assert "go on without take_note" in results[0]


async def test_what_is_shown_already_is_not_added() -> None:
    tools = await turn(of=models(FEW))
    before = tools.shown(HUGE, WINDOW), tools.shown(SMALL, WINDOW)
    await run(tools, "calculate")
    assert (tools.shown(HUGE, WINDOW), tools.shown(SMALL, WINDOW)) == before


async def test_what_the_person_has_switched_off_is_neither_shown_nor_run() -> None:
    tools = await turn(toolkits=(BASE, CALENDAR), off=(WEATHER,))
    for model in (SMALL, HUGE):
        shown = tools.shown(model, WINDOW)
        assert not {"get_weather", "weather_alerts"} & {*(spec.name for spec in shown.specs), *shown.names}
    with pytest.raises(ToolFailed, match=r"switched off weather. Only they can switch it on: /tools on weather"):
        await run(tools, "get_weather")
    assert "get_weather" not in await tools.discover("rain?") and "get_weather" not in names(tools, HUGE)


async def test_what_the_person_may_not_use_is_not_added() -> None:
    tools = await turn()
    tools.shown(HUGE, WINDOW)
    with pytest.raises(ToolFailed, match="There is no tool host_open here"):
        await run(tools, "host_open")
    assert "host_open" not in names(tools, HUGE)


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


async def test_discovery_asks_what_the_model_at_hand_sees() -> None:
    tools = await turn(of=models(FEW))
    assert "weather_alerts" in names(tools, HUGE) and names(tools, SMALL) == [
        "get_weather",
        "weather_alerts",
        DISCOVERY,
    ]
    found = await run(tools, DISCOVERY, '{"query": "sum?"}', "S")
    assert "calculate" in found and names(tools, SMALL)[-2:] == ["calculate", "set_tier"]
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
    kits = [toolkit(f"kit_{at}", card(f"tool_{at}")) for at in range(MOST_NAMED + 7)]
    tools = await turn(toolkits=(BASE, *kits))
    names(tools, HUGE)
    lines = (await tools.discover("fly to the moon")).splitlines()
    assert len(lines) == MOST_NAMED + 2 and lines[-1] == "… and 7 more."


async def test_discovery_is_honest_when_nothing_is_left() -> None:
    tools = await turn(toolkits=(BASE, WEATHER))
    names(tools, HUGE)
    assert await tools.discover("meet?") == "There are no other tools than those that you see."


async def test_discovery_brings_a_few_the_likeliest_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    text = ToolText("word " * 100, EMPTY)
    many = toolkit("many", *(ToolCard(f"tool_{at}", dict.fromkeys(SIZES, text)) for at in range(MOST_FOUND + 1)))
    tools = await turn(toolkits=(BASE, NOTES, many), found={"many": {"notes": 1.0, "many": 2.0}})
    names(tools, HUGE)
    lines = (await tools.discover("many")).splitlines()[1:]
    assert [line.split(":")[0] for line in lines] == [f"- tool_{at}" for at in range(MOST_FOUND)]
    assert all(len(line) <= DESCRIBED_CHARS + len("- tool_0: …") and line.endswith("…") for line in lines)
    assert "[ToolRouter] discover_tools found tool_0, tool_1, " in caplog.text


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
        offer = tools.offer(model, WINDOW)
        assert 0 < offer.shown <= most and 0 < offer.tokens <= room and offer.total == 80
    assert tools.whole(SMALL) > 3 * 800 and tools.whole(HUGE) == tokens(
        [each.spec("XL") for kit in eighty() for each in kit.tools]
    )


@pytest.mark.parametrize("model", [SMALL, MEDIUM, LARGE, HUGE])
async def test_definitions_take_an_eighth_of_a_small_window(model: str) -> None:
    tools = await turn("all", eighty(), {"all": {f"kit_{at}": 3.0 for at in range(7)}})
    offer = tools.offer(model, 4_096)
    assert offer.shown and offer.tokens <= 512 < tools.offer(model, WINDOW).tokens


async def test_the_limits_are_the_owners() -> None:
    config = {"tools": {"presentation": {"XL": {"strategy": "top_k", "maxTools": 2}}}}
    shown = (await turn(of=models(config))).shown(HUGE, WINDOW)
    assert [spec.name for spec in shown.specs] == ["get_weather", DISCOVERY] and "create_event" in shown.hint


async def test_a_model_without_tools_gets_none_and_the_log_says_so() -> None:
    tools = await turn()
    assert tools.shown(LOCAL_MODEL, 2_048).specs == () and tools.shown(LOCAL_MODEL, 2_048).hint == ""
    offer = tools.offer(LOCAL_MODEL, 2_048)
    assert (offer.shown, offer.tokens, offer.takes_tools) == (0, 0, False)
    assert str(offer) == f"0/9 tools | {LOCAL_MODEL} takes no tools"


def test_the_line_of_the_log() -> None:
    activated = (Activated("weather", "keyword", 1.0), Activated("calendar", "embed", 0.5249))
    offer = ToolOffer(HUGE, "XL", 18, 35, 2_000, activated)
    assert str(offer) == "18/35 tools | activated: [weather(keyword:1.00), calendar(embed:0.52)]"
    off = ToolOffer(HUGE, "XL", 3, 35, 200, (), "EMBEDDINGS=off")
    assert str(off) == "3/35 tools | activated: [] | words only: EMBEDDINGS=off"


async def test_what_was_decided_is_in_the_offer() -> None:
    tools = await turn(doubt="the model is missing")
    offer = tools.offer(HUGE, WINDOW)
    assert (offer.model, offer.shown, offer.total, offer.doubt) == (HUGE, 5, 9, "the model is missing")
    assert offer.activated == tools.selection.activated and offer.tokens == tools.shown(HUGE, WINDOW).tokens


async def test_what_changes_something_is_not_run_before_its_schema_was_told() -> None:
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
    tools = TurnTools(Toolbox(OurShelves([Shelf(kit, changing)])), Told({}), models(), (kit,), ToolSelection())
    assert names(tools, HUGE) == []
    rounds, results = ToolRounds(tools, 9, 9_000), dict[int, str]()
    calls = [
        ToolCall(str(at), name, "{}") for at, name in enumerate(("delete_events", "delete_events", "count_events"))
    ]
    await rounds.run(calls, scope(), 30, results)
    assert not ran and results[2] == "{}", "two calls in one answer are both blind"
    assert all('Its schema: {"type": "object"' in results[at] for at in (0, 1))
    assert "delete_events" in names(tools, HUGE)
    await rounds.run(calls[:1], scope(), 30, results)
    assert ran == ["deleted"] and results[0] == "deleted"


async def test_one_that_is_too_long_to_be_shown_runs_once_its_schema_was_told() -> None:
    text = ToolText("Delete all. " * 9_000, EMPTY)
    kit = toolkit("diary", ToolCard("delete_events", dict.fromkeys(SIZES, text)))
    changing = Tool("delete_events", echo, traits=Traits(changes=True))
    tools = TurnTools(Toolbox(OurShelves([Shelf(kit, [changing])])), Told({}), models(), (kit,), ToolSelection())
    with pytest.raises(ToolFailed, match="Its schema"):
        await run(tools, "delete_events", "{}", "S")
    assert names(tools, SMALL) == [] and await run(tools, "delete_events", "{}", "S") == "{}"


def long_tools(name: str, count: int, tokens_each: int) -> Toolkit:
    text = ToolText("word" * tokens_each, EMPTY)
    return toolkit(name, *(ToolCard(f"{name}_{at}", dict.fromkeys(SIZES, text)) for at in range(count)))


@pytest.mark.parametrize(("model", "size", "most"), [(SMALL, "S", 800), (MEDIUM, "M", 1_024), (HUGE, "XL", 1_024)])
async def test_what_is_added_keeps_a_limit_too(model: str, size: Size, most: int) -> None:
    kits = [long_tools(f"kit{at}", 14, 100) for at in range(6)]
    tools = await turn("x", (BASE, WEATHER, *kits), {f"kit{at}": {f"kit{at}": 3.0} for at in range(6)})
    names(tools, model, 8_192)
    found: list[str] = []
    for at in range(6):
        before = names(tools, model, 8_192)
        await tools.discover(f"kit{at}", size)
        after = names(tools, model, 8_192)
        assert 0 < tools.offer(model, 8_192).tokens <= 1.5 * most and DISCOVERY in after
        new = [name for name in after if name not in before]
        assert 0 < len(new) <= MOST_FOUND and all(name.startswith(f"kit{at}_") for name in new)
        assert found or after[: len(before)] == before, "as long as all of it fits"
        found += new
    assert found[0] not in after, "the oldest goes first"


async def test_what_was_called_stays_when_others_go() -> None:
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
    assert "kit0_1" in left and "kit0_0" not in left


async def test_a_definition_of_half_the_room_is_found_but_not_added() -> None:
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
    assert len(names(tools, HUGE)) == MOST_DEFINITIONS
    await run(tools, "jira_155")
    await tools.discover("more")
    after = names(tools, HUGE)
    assert len(after) == MOST_DEFINITIONS
    assert {"calculate", "set_tier", DISCOVERY, "jira_0", "jira_155", "more_0", "more_4"} <= {*after}
    assert "jira_124" not in after, "the least relevant that was not called"


async def test_stubs_make_room_for_what_is_found() -> None:
    many = toolkit("many", *(card(f"tool_{at}") for at in range(212)))
    config = models({"tools": {"presentation": {"S": {"strategy": "hybrid"}}}})
    tools = await turn(toolkits=(*KITS, many), found={**ABOUT, "many": {"many": 3.0}}, of=config)
    assert len(names(tools, SMALL)) == MOST_DEFINITIONS
    await tools.discover("many", "S")
    assert len(names(tools, SMALL)) == MOST_DEFINITIONS == len({*names(tools, SMALL)})
    assert tools.offer(SMALL, WINDOW).shown > 8


async def test_a_tool_runs_as_its_source_says() -> None:
    slow = Traits(parallel=False, changes=True, seconds=7)
    box = Toolbox(OurShelves([Shelf(WEATHER, [Tool("get_weather", echo, traits=slow)])]))
    tools = TurnTools(box, Told({}), models(), (WEATHER,), ToolSelection())
    assert tools.traits("get_weather") == slow
    tools.shown(SMALL, WINDOW)
    with pytest.raises(BadArguments):
        await run(tools, "get_weather", "{}", "S")

"""Toolkits, a scripted selector, and the tools of one turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.catalog.catalog import BUNDLED, Catalog
from routing.config import jsonfile
from routing.config.runtime import read_config
from routing.policy.models import Models
from routing.tools.offer import TurnTools
from routing.tools.presentation import DISCOVERY
from routing.tools.selector import FOLLOW_UP_CHARACTERS, Activated, ToolSelection, ToolSelector
from routing.types.decisions import SIZES, Size, TierDecision
from routing.types.llm import ToolCall
from routing.types.people import Person
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from routing.types.tools import ToolScope
from tests.routing.tools.fakes import FakeVectors, card, toolkit

SMALL, MEDIUM, LARGE, HUGE = (
    *("openai/llama-3.2-1b", "openai/qwen2.5-7b-instruct"),
    *("openai/qwen2.5-32b-instruct", "openai/gpt-5.2"),
)
WINDOW = 128_000
LONG = "x" * (FOLLOW_UP_CHARACTERS + 1)
EMPTY = {"type": "object", "properties": {}}


def searching() -> ToolCard:
    """The tool that searches for other tools."""
    query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return ToolCard(DISCOVERY, {size: ToolText(f"{size}: Find more.", query) for size in SIZES})


WEATHER = toolkit("weather", card("get_weather", category="info"), card("weather_alerts", category="info"))
CALENDAR = toolkit("calendar", card("create_event", category="time"), card("list_events", category="time"))
NOTES = toolkit("notes", card("take_note"), card("find_note"))
BASE = toolkit("basics", card("calculate"), card("set_tier"), searching(), base=True)
KITS = (BASE, WEATHER, CALENDAR, NOTES)

Found = Mapping[str, Mapping[str, float]]
"""The odds of each toolkit by message; the others have almost none."""


class ScriptedSelector(ToolSelector):
    """Finds what the test defines."""

    def __init__(self, found: Found, toolkits: Sequence[Toolkit] = KITS, fallback_reason: str = "") -> None:
        super().__init__(lambda: tuple(toolkits), None, FakeVectors())
        self._found = found
        self._kits = {each.name: each for each in toolkits}
        self._fallback_reason = fallback_reason
        self.asked: list[str] = []

    async def match(self, message: str, among: frozenset[str] | None = None) -> ToolSelection:
        self.asked.append(message)
        found = {name: odds for name, odds in self._found.get(message, {}).items() if among is None or name in among}
        odds = {each.name: found.get(kit.name, -7.0) for kit in self._kits.values() for each in kit.tools}
        scores = {name: min(1.0, 0.5 + found[name] / 20) for name in found if found[name] > 0}
        return ToolSelection(
            tuple(Activated(name, "embed", scores[name]) for name in scores), odds, self._fallback_reason
        )


ABOUT: Found = {
    "rain?": {"weather": 3.0},
    "forecast?": {"weather": 9.7},
    "time?": {"basics": 10.0},
    "meet?": {"calendar": 2.0},
    "sum?": {"basics": 2.0},
    "hm?": {"notes": 0.5},
    LONG: {"notes": 1.0},
}


def models(config: Mapping[str, Any] | None = None) -> Models:
    """Models from the bundled catalogue."""
    return Models(read_config(jsonfile.parse(json.dumps(config or {}), "config"), {}, {}), Catalog.load(BUNDLED))


async def echo(_scope: ToolScope, **arguments: object) -> str:
    return json.dumps(arguments)


async def discover(scope: ToolScope, query: str) -> str:
    assert scope.discover is not None
    return await scope.discover(query)


def toolbox(toolkits: Sequence[Toolkit] = KITS) -> Toolbox:
    return Toolbox(
        BuiltinSource(
            BoundToolkit(kit, [Tool(each.name, discover if each.name == DISCOVERY else echo) for each in kit.tools])
            for kit in toolkits
        )
    )


async def turn(
    message: str = "rain?",
    toolkits: Sequence[Toolkit] = KITS,
    found: Found = ABOUT,
    of: Models | None = None,
    off: Sequence[Toolkit] = (),
    fallback_reason: str = "",
) -> TurnTools:
    selector = ScriptedSelector(found, (*toolkits, *off), fallback_reason)
    selection = await selector.select(message, (), (), toolkits)
    return TurnTools(toolbox((*toolkits, *off)), selector, of or models(), toolkits, selection, off)


def names(tools: TurnTools, model: str, window: int = WINDOW) -> list[str]:
    return [spec.name for spec in tools.begin_call(model, window).specs]


def scope(size: Size = "XL") -> ToolScope:
    return ToolScope(Person(1, "user", "Ann"), 1, TierDecision("balanced", "default", "default"), size=size)


async def run(tools: TurnTools, name: str, arguments: str = '{"city": "Rome"}', size: Size = "XL") -> str:
    return await tools.run(ToolCall("1", name, arguments), scope(size))


FEW = {"tools": {"presentation": {"S": {"maxTools": 3}}}}

"""Tools as their authors write them: definitions from functions, and results."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from handlers.tools.authoring.decorator import FunctionTool, error, ok, run, runnable, tool, tools_of
from handlers.tools.authoring.manifests import read_toolkit
from handlers.tools.authoring.registration import native_tool, register
from handlers.tools.authoring.tasks import Program
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.errors import BadArguments, ToolFailed
from routing.types.llm import ToolCall
from routing.types.toolkits import ToolCard, Toolkit
from routing.types.tools import ToolScope, Traits
from tests.handlers.tools.authoring.argument_types import Colour, Node, Opening, Point
from tests.handlers.tools.files import ADA


@tool(category="travel", parameters={"S": ("city",)}, examples=["Any hotels in Rome?"], priority=2, role="guest")
async def find_hotels(
    scope: ToolScope, city: str, stars: int = 3, model_config: str = "", json: bool = False
) -> object:
    """Find hotels. They are e.g. in Rome.

    Not for flats.

    Args:
        city (str): where they
            are; name: as on maps
            name: or as people say
        stars: how good
          - at least

    Returns:
        nothing: of interest
    """
    return {"person": scope.person.id, "city": city, "stars": stars, "odd": [model_config, json]}


def test_a_docstring_describes_sizes_and_parameters() -> None:
    card = register(find_hotels)
    assert {size: text.description for size, text in card.texts.items()} == {
        "S": "Find hotels.",
        "M": "Find hotels. They are e.g. in Rome.",
        "L": "Find hotels. They are e.g. in Rome.\nNot for flats.",
        "XL": "Find hotels. They are e.g. in Rome.\nNot for flats.",
    }
    told = card.texts["XL"].parameters["properties"]
    assert list(told) == ["city", "stars", "model_config", "json"]
    assert (told["city"]["description"], told["stars"]["description"]) == (
        "where they are; name: as on maps name: or as people say",
        "how good - at least",
    )
    assert list(card.texts["S"].parameters["properties"]) == ["city"]
    assert (card.category, card.examples, card.priority) == ("travel", ("Any hotels in Rome?",), 2)


def test_types_may_be_local() -> None:
    class Shelf(BaseModel):
        books: int

    @tool
    def count(shelf: Shelf) -> int:
        """Count."""
        return shelf.books

    assert count(Shelf(books=3)) == 3
    parameters = native_tool(count)["function"]["parameters"]
    assert parameters["properties"]["shelf"]["properties"] == {"books": {"type": "integer"}}


@tool(role="admin", traits=Traits(parallel=False))
def weather(scope: ToolScope, city: str) -> str:
    """Tell the weather."""
    return f"{city} {scope.size} {threading.current_thread() is threading.main_thread()}"


@tool
async def whose(scope: ToolScope) -> str:
    """Tell the person's name."""
    return f"{scope.person.name} {threading.current_thread() is threading.main_thread()}"


async def test_a_function_runs_in_a_thread_unless_it_is_async() -> None:
    assert await run(weather, {"city": "Rome"}, ADA, "S") == "Rome S False"
    assert await run(whose, {}, ADA) == "Ada True"
    ran = runnable(weather)
    assert await ran.execute(replace(ADA, size="M"), city="Oslo") == "Oslo M False"
    assert (ran.name, ran.role, ran.traits) == ("weather", "admin", Traits(parallel=False))


async def test_a_function_gets_arguments_of_its_types() -> None:
    @tool
    def asked(p: Point, c: Colour, many: list[Point], o: Opening, last: Node | None = None) -> object:
        """Asked."""
        return ok([type(p).__name__, c.name, many[0].x, o["day"], last])

    given = {"p": {"x": 1}, "c": "blue", "many": [{"x": 2}], "o": {"day": "Monday"}}
    assert await run(asked, given, ADA) == '["Point","BLUE",2.0,"Monday",null]'
    said = r"arguments of asked are wrong \(p.x: Input should be a valid number, unable to parse string as a number\)\."
    with pytest.raises(BadArguments, match=said):
        await run(asked, {**given, "p": {"x": "far"}}, ADA)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"opening": {"day": "Monday"}, "zz": 1}, "there is no zz"),
        ({}, "opening: missing"),
        ({"opening": {}, "node": {}}, "opening.day: missing; node.name: missing"),
        (
            {"opening": 1, "node": 2, "point": 3},
            "opening: must be an object; node: must be an object; point: must be an",
        ),
    ],
)
async def test_wrong_arguments_are_explained_in_terms_of_json(given: Mapping[str, Any], said: str) -> None:
    @tool
    def asked(opening: Opening, node: Node | None = None, point: Point | None = None) -> object:
        """Asked."""
        return ok([opening, node, point])

    with pytest.raises(BadArguments) as refused:
        await run(asked, given, ADA)
    assert str(refused.value).startswith(f"The arguments of asked are wrong ({said}")


async def test_a_scope_and_odd_names_reach_the_function() -> None:
    given = {"city": "Rome", "model_config": "m", "json": True}
    assert await run(find_hotels, given, ADA) == '{"person":7,"city":"Rome","stars":3,"odd":["m",true]}'


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("text", "text"),
        (None, ""),
        (ok("fine"), "fine"),
        (ok({"n": 1.5}), '{"n":1.5}'),
        (42, "42"),
        (["ä", True], '["ä",true]'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (Point(1.0), '{"x":1.0,"y":0.0,"tags":[]}'),
    ],
)
async def test_a_result_becomes_a_text(given: object, told: str) -> None:
    assert await run(tool(lambda: given), {}, ADA) == told


async def test_errors_are_reported_and_not_taken_for_wrong_arguments() -> None:
    with pytest.raises(ToolFailed, match="There is no Rome: try Roma"):
        await run(tool(lambda: error("There is no Rome: try Roma.")), {}, ADA)
    with pytest.raises(ToolFailed, match="without giving a reason"):
        await run(tool(lambda: error("")), {}, ADA)

    def breaks() -> str:
        Node.model_validate({})
        return ""

    with pytest.raises(ValueError, match="validation error for Node"):
        await run(tool(breaks), {}, ADA)


async def test_the_toolbox_runs_it() -> None:
    @tool
    async def double(scope: ToolScope, number: int) -> int:
        """Double a number."""
        await asyncio.sleep(0)
        return 2 * number

    kit = Toolkit("numbers", "Numbers.", tools=(register(double),))
    box = Toolbox(BuiltinSource([BoundToolkit(kit, [runnable(double)])]))
    assert await box.run(ToolCall("1", "double", '{"number": 21}'), ADA) == "42"
    with pytest.raises(BadArguments, match="not of type 'integer'"):
        await box.run(ToolCall("1", "double", '{"number": "many"}'), ADA)


class Tickets:
    def __init__(self, left: int) -> None:
        self.left = left

    async def _sold_out(self) -> str | None:
        return None if self.left else "no tickets are left"

    async def _price(self, scope: ToolScope, when: date, count: int = 1) -> str | None:
        return f"{count} of {self.left} for {scope.person.name} in {when.year}" if count > 1 else None

    def _counted(self, card: ToolCard) -> ToolCard:
        return replace(card, category=f"{self.left} tickets")

    def _traits(self) -> Traits:
        return Traits(seconds=self.left)

    @tool(off=_sold_out, asks=_price, describe=_counted, traits=_traits)
    async def buy(self, scope: ToolScope, when: date, count: int = 1) -> str:
        """Buy tickets."""
        self.left -= count
        return f"{scope.person.name} has {count} for {when.year}"

    @tool(role="guest")
    def available(self) -> int:
        """How many are left."""
        return self.left


async def test_methods_are_tools_with_the_state_of_their_object() -> None:
    tickets, others = Tickets(2), Tickets(9)
    tools = tools_of(tickets)
    assert [each.name for each in tools] == ["buy", "available"]
    kit = BoundToolkit(Toolkit("tickets", "…", tools=(*map(register, tools),)), map(runnable, tools))
    assert [(card.category, list(card.spec("S").parameters["properties"])) for card in kit.toolkit.tools] == [
        ("2 tickets", ["when", "count"]),
        ("", []),
    ]
    buy, available = kit.tools.values()
    assert (buy.role, buy.traits.seconds, available.role, available.asks) == ("user", 2, "guest", None)
    assert buy.asks is not None
    assert await buy.asks(ADA, when="2027-01-01") is None
    assert await buy.asks(ADA, when="2027-01-01", count=2) == "2 of 2 for Ada in 2027"
    box = Toolbox(BuiltinSource([kit]))
    assert await box.off(ADA.person) == {}
    assert await tickets.buy(ADA, date(2027, 1, 1)) == "Ada has 1 for 2027", "it is still a method"
    assert await buy.execute(ADA, when="2028-01-01") == "Ada has 1 for 2028"
    assert await box.run(ToolCall("1", "available", "{}"), ADA) == "0"
    assert await box.off(ADA.person) == {"buy": "no tickets are left"}
    assert others.left == 9


def test_a_decorated_function_can_be_called() -> None:
    @tool(name="other_name", descriptions={"S": "Less.", "XL": "More."})
    def original(a: int) -> int:
        return a + 1

    assert isinstance(original, FunctionTool)
    assert original(1) == 2
    definition = native_tool(original, "S")
    assert definition["type"] == "function"
    assert definition["function"]["name"] == "other_name"
    assert definition["function"]["description"] == "Less."


async def test_the_examples_of_the_documentation_work() -> None:
    text = (Path(__file__).parents[4] / "docs" / "tools.md").read_text(encoding="utf-8")
    function, methods = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(function, "docs/tools.md", "exec"), names)
    assert await run(names["convert_money"], {"amount": 2, "to": "USD"}, ADA) == "2.0 EUR are 2.16 USD."
    with pytest.raises(ToolFailed, match=r"no rate for XXX\. There are: CHF, USD"):
        await run(names["convert_money"], {"amount": 2, "to": "XXX"}, ADA)
    assert list(native_tool(names["convert_money"], "S")["function"]["parameters"]["properties"]) == ["amount", "to"]
    exec(compile(methods, "docs/tools.md", "exec"), names)
    (buy,) = map(runnable, names["TOOLS"])
    assert await buy.execute(ADA, count=2) == "Ada has 2 more; 98 are left."
    assert buy.asks is not None
    assert await buy.asks(ADA, count=2) == "2 tickets cost $40."


def test_the_documented_toolkit_is_valid(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "docs" / "tools.md").read_text(encoding="utf-8")
    (toolkit,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "words.json"
    path.write_text(toolkit, encoding="utf-8")
    manifest = read_toolkit(path)
    assert [tool.name for tool in manifest.toolkit.tools] == ["count_words"]
    assert manifest.warnings == ()
    way = manifest.implementations["count_words"]
    assert isinstance(way, Program)
    ran = subprocess.run([sys.executable, *way.argv[1:]], input='{"text": "a b c"}', capture_output=True, text=True)
    assert ran.stdout == "3\n"

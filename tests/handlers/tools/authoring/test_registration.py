"""Registration errors, and fallbacks for sizes without a text."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, cast

import pytest

from handlers.tools.authoring.decorator import tool
from handlers.tools.authoring.registration import card_of, native_tool, register
from handlers.tools.authoring.schemas import MAX_SUBSCHEMAS
from routing.errors import ConfigError
from routing.types.decisions import SIZES
from routing.types.toolkits import ToolCard


def parameters(*names: str, required: tuple[str, ...] = ()) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def card_with(**changes: Any) -> ToolCard:
    """The card of a valid tool with these changes. One schema is for all sizes."""
    given = {"name": "weather", "descriptions": "The weather.", "parameters": parameters("city")} | changes
    if "type" in given["parameters"]:
        given["parameters"] = dict.fromkeys(SIZES, given["parameters"])
    return card_of(**given)


def test_a_valid_tool_is_accepted() -> None:
    card = card_with()
    assert card.name == "weather"
    assert set(card.texts) == set(SIZES)
    assert native_tool(card_with(), "S") == native_tool(card, "XL")


@pytest.mark.parametrize("name", ["a", "_x", "A-b_9", "x" * 64])
def test_a_legal_name_is_accepted(name: str) -> None:
    assert card_with(name=name).name == name


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_a_tool_without_a_name_is_refused(name: object) -> None:
    with pytest.raises(ConfigError, match=r"The name of a tool is missing: give it 1 to 64"):
        card_with(name=name)


@pytest.mark.parametrize(
    ("name", "would"),
    [("get weather", "get_weather"), ("wetter.heute", "wetter_heute"), ("9lives", "_9lives"), ("größe", "gr_e")],
)
def test_an_illegal_name_gets_a_suggestion(name: str, would: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}', is not legal: it takes 1 to 64 .*; {would} would do"):
        card_with(name=name)
    assert card_with(name=would).name == would


@pytest.mark.parametrize("name", ["x" * 65, "天気", "-a", "a\n", "a/b"])
def test_no_provider_sees_an_illegal_name(name: str) -> None:
    with pytest.raises(ConfigError, match="is not legal"):
        card_with(name=name)


XL_SCHEMA = parameters("city", "day", required=("city",))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"descriptions": {}}, "no descriptions for any of S, M, L, XL: give at least one"),
        ({"descriptions": None}, "no descriptions for any"),
        ({"descriptions": ""}, "an empty description for S"),
        ({"descriptions": {"S": "Weather.", "L": " \n"}}, "an empty description for L"),
        ({"descriptions": {"S": 3}}, "an empty description for S"),
        ({"descriptions": {"XS": "Weather."}}, "are for 'XS': the sizes are S, M, L, XL"),
        ({"parameters": {"S": parameters("a", "b"), "XL": parameters("a")}}, "has b for S, which XL lacks"),
        ({"parameters": {"S": parameters("z"), "XL": parameters("a")}}, "has z for S, which XL lacks"),
        ({"parameters": {"M": parameters("a"), "L": parameters("a", "z"), "XL": parameters("a")}}, "has z for L"),
        ({"priority": 10**400}, "has a priority that is not a finite number"),
        ({"priority": "high"}, "has a priority that is not a finite number"),
        ({"parameters": {"S": parameters("day"), "XL": XL_SCHEMA}}, "requires city and hides it for S"),
        ({"parameters": {"M": parameters("day"), "S": parameters("city"), "XL": XL_SCHEMA}}, "hides it for M"),
        ({"parameters": {"XL": {"properties": {}}}}, 'for XL must be of "type": "object"'),
        ({"parameters": {"type": "array"}}, 'must be of "type": "object"'),
        (
            {"parameters": {"type": "object", "properties": {"a": {"type": "strin"}}}},
            r"properties\.a\.type has the illegal value .strin",
        ),
        (
            {"parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}},
            r"properties\.a\.pattern has the illegal value .\(",
        ),
        ({"parameters": {"type": "object", "required": "a"}}, "required is .a., but must be of type array"),
        ({"parameters": {"type": "object", "default": {1, 2}}}, "is not JSON"),
        ({"parameters": {"type": "object", "default": float("nan")}}, "is not JSON"),
        (
            {"parameters": {"type": "object", "properties": {"a": {"$ref": "https://x.org/a"}}}},
            "refers to https://x.org/a",
        ),
        ({"parameters": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}}, "which is not in it"),
        ({"parameters": {"type": "object", "properties": {"a": {"$dynamicRef": "#x"}}}}, r"uses \$dynamicRef"),
    ],
)
def test_an_invalid_tool_is_refused_by_name_with_the_fix(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"tool weather.*{reason}"):
        card_with(**change)


def test_a_function_without_decorator_is_refused() -> None:
    with pytest.raises(ConfigError, match="An object of type function is not a tool: decorate a function with @tool"):
        register(cast(Any, parameters))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["S", "M", "L", "XL"], ["S", "M", "L", "XL"]),
        (["S", "XL"], ["S", "XL", "XL", "XL"]),
        (["M"], ["M", "M", "M", "M"]),
        (["S"], ["S", "S", "S", "S"]),
        (["M", "L"], ["M", "M", "L", "L"]),
    ],
)
def test_a_size_falls_back_to_the_next_larger_then_to_the_next_smaller(given: list[str], told: list[str]) -> None:
    card = card_with(descriptions={size: size for size in given}, parameters={"XL": parameters()})
    assert [card.texts[size].description for size in SIZES] == told


def test_references_are_inlined_and_titles_removed() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Arguments",
        "type": "object",
        "properties": {
            "title": {"type": "string", "title": "Title"},
            "$ref": {"type": "string"},
            "place": {"$ref": "#/$defs/Place", "description": "where"},
            "more": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            "any": {"type": ["array", "null"]},
            "free": True,
            "both": {"$ref": "#/$defs/Place", "properties": {"z": {"type": "string"}}},
            "default": {"default": {"title": "kept", "$ref": "#/nowhere"}, "enum": [{"title": "kept"}]},
        },
        "$defs": {"Place": {"title": "Place", "type": "object", "properties": {"up": {"$ref": "#/$defs/Place"}}}},
    }
    place = {"type": "object", "properties": {"up": {"type": "object"}}}
    assert card_with(parameters=schema).texts["S"].parameters == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "$ref": {"type": "string"},
            "place": {**place, "description": "where"},
            "more": {"type": "array", "items": place},
            "any": {"type": ["array", "null"], "items": {}},
            "free": {},
            "both": {"allOf": [place, {"properties": {"z": {"type": "string"}}}]},
            "default": {"default": {"title": "kept", "$ref": "#/nowhere"}, "enum": [{"title": "kept"}]},
        },
    }


def test_a_recursive_schema_is_refused() -> None:
    doubled = {f"a{n}": {"properties": {x: {"$ref": f"#/$defs/a{n + 1}"} for x in "lr"}} for n in range(40)}
    bomb = {"type": "object", "$defs": {**doubled, "a40": {}}, "properties": {"a": {"$ref": "#/$defs/a0"}}}
    with pytest.raises(ConfigError, match=f"weather for S is too large: more than {MAX_SUBSCHEMAS:,} parts"):
        card_with(parameters=bomb)
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    assert card_with(parameters=parameters()) is not None
    for _ in range(3_000):
        deep = {"type": "object", "properties": {"a": deep}}
    with pytest.raises(ConfigError, match=r"nested too deeply|is not JSON"):
        card_with(parameters=deep)


def test_registered_tools_are_copies() -> None:
    given = parameters("city")
    card = card_with(parameters=given)
    given["properties"]["city"]["type"] = "number"
    assert card.texts["XL"].parameters["properties"]["city"] == {"type": "string"}
    assert json.dumps(native_tool(card))


def test_jsonschema_is_imported_on_demand() -> None:
    code = (
        "import sys; from handlers.tools.authoring.manifests import our_toolkit; our_toolkit('basics'); "
        "print('jsonschema' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False\n"


def test_parameters_are_given_for_each_size() -> None:
    parameters: Any = ["city"]

    @tool(parameters=parameters)
    def forecast(city: str) -> str:
        """Forecasts."""
        return ""

    with pytest.raises(ConfigError, match="give a list of names for each size"):
        native_tool(forecast, "S")


@pytest.mark.parametrize(
    ("shown", "reason"),
    [("city", r"for S are 'city': give a list of names, such as \[\"city\"\]"), (["town"], "no parameter 'town'")],
)
def test_sizes_can_only_show_parameters_of_the_function(shown: Any, reason: str) -> None:
    @tool(parameters={"S": shown})
    def forecast(city: str, days: int = 1) -> str:
        """Forecasts."""
        return ""

    with pytest.raises(ConfigError, match=reason):
        native_tool(forecast, "S")

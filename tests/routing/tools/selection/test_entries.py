"""Catalogues of toolkits and of tools, with schemas of any form."""

from __future__ import annotations

from typing import Any

import pytest

from routing.tools.selection.entries import NO_TOOL, Entry, entries
from tests.routing.tools.selection.catalogue import CATALOGUE, EXAMPLES

FLAT = {"name": "getBoxOffice", "description": "Sales of films."}


def parameters(schema: object) -> str:
    return entries([{**FLAT, "parameters": schema}], {})[0].parameters


def test_each_tool_of_a_toolkit_is_an_entry_of_its_group() -> None:
    first, second, *_ = entries(CATALOGUE, EXAMPLES)
    assert first == Entry(
        name="get_weather",
        group="weather",
        texts=("get weather. Tell the weather at a place.", "weather. Forecasts."),
        keywords=("forecast", "umbrella"),
        parameters="",
        category="info",
        examples=("will it rain tomorrow",),
    )
    assert (second.name, second.group, second.category) == ("weather_alerts", "weather", "info")


def test_a_tool_alone_is_its_own_group() -> None:
    (entry,) = entries(CATALOGUE[2:], EXAMPLES)
    assert (entry.name, entry.group) == ("playMusic", "playMusic")
    assert entry.texts == ("play Music. Play a song.", "play Music"), "the name alone is a passage, too"
    assert (entry.parameters, entry.category) == ("artist", "")
    assert entry.examples == ("put on some jazz",)


def test_examples_of_a_toolkit_serve_all_its_tools_and_those_of_a_tool_only_it() -> None:
    said = {"weather": ["rain"], "weather/weather_alerts": ["storm"], "get_weather": ["nobody"], NO_TOOL: ["hello"]}
    first, second, *others = entries(CATALOGUE, said)
    assert (first.examples, second.examples) == (("rain",), ("rain", "storm"))
    assert all(not entry.examples for entry in others)


def test_entries_keep_the_catalogues_order() -> None:
    assert [entry.name for entry in entries(CATALOGUE, {})] == [
        *("get_weather", "weather_alerts", "set_alarm"),
        "playMusic",
    ]
    assert entries([], {}) == ()


@pytest.mark.parametrize(
    "empty", [{}, {"tools": []}, {"tools": None}, {"category": None}, {"keywords": []}, {"keywords": None}]
)
def test_missing_texts_are_empty(empty: dict[str, Any]) -> None:
    (entry,) = entries([{**FLAT, **empty}], {})
    assert (entry.keywords, entry.parameters, entry.category, entry.examples) == ((), "", "", ())


def test_lone_surrogates_are_replaced_except_in_names() -> None:
    half, said = "\ud800", {"box\ud800": ["sales \ud800"], "box\ud800/get\ud800": ["films \ud800"]}
    row = {"description": half, "keywords": [half], "category": half, "parameters": {"city\ud800": {"enum": [half]}}}
    whole = {**row, "name": f"box{half}", "tools": [{**row, "name": f"get{half}"}]}
    (entry,) = entries([whole], said)
    assert (entry.name, entry.group) == (f"get{half}", f"box{half}")
    assert entry.texts == ("get?. ?", "box?. ?")
    assert (entry.keywords, entry.category, entry.parameters) == (("?",), "?", "city? ?")
    assert entry.examples == ("sales ?", "films ?")
    assert entries([{"name": half}], {})[0].texts == ("?.", "?")


def test_a_tool_without_a_description_is_described_by_its_name() -> None:
    (entry,) = entries([{**FLAT, "description": ""}], {})
    assert entry.texts == ("get Box Office.", "get Box Office")


@pytest.mark.parametrize("row", [{"name": "getBoxOffice"}, {**FLAT, "description": None}])
def test_a_missing_description_is_an_empty_one(row: dict[str, Any]) -> None:
    (entry,) = entries([row], {})
    assert entry.texts == ("get Box Office.", "get Box Office")


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, ""),
        ({"city": {"type": "string"}}, "city"),
        ({"type": "object", "properties": {"startDate": {"type": "string"}}, "required": ["startDate"]}, "start Date"),
        ({"city": {"description": "Where it is."}}, "city Where it is."),
        ({"unit": {"enum": ["celsius", "kelvin", 3, None]}}, "unit celsius kelvin 3 None"),
        ({"days": {"type": "array", "items": {"description": "A weekday."}}}, "days A weekday."),
        ({"at": {"anyOf": [{"description": "Unix time"}, {"enum": ["now"]}]}}, "at Unix time now"),
        ({"place": {"properties": {"zip_code": {"description": "Postal."}}}}, "place zip code Postal."),
        ({"unit": {"type": "string", "default": "celsius", "format": "word"}}, "unit"),
        ([{"name": "city", "description": "Where it is."}], "Where it is."),
        ("city", ""),
        (None, ""),
        (7, ""),
        ({"city": "string"}, ""),
        ({"description": {"type": "string", "description": "Of the event."}}, "description Of the event."),
        ({"enum": {"type": "string"}}, "enum"),
    ],
)
def test_the_text_of_a_schema(schema: object, text: str) -> None:
    assert parameters(schema) == text


@pytest.mark.parametrize("schema", [{"default": {}}, {"type": {"description": "Kind."}}, {"required": {"type": "x"}}])
def test_parameters_may_be_named_like_json_schema_keywords(schema: dict[str, Any]) -> None:
    assert isinstance(parameters(schema), str)


def test_deep_nesting_is_handled() -> None:
    schema: dict[str, Any] = {"description": "deep"}
    for _ in range(100):
        schema = {"items": schema}
    assert parameters(schema) == "deep"

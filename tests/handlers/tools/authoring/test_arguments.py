"""Argument checking, and the errors shown to a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from handlers.tools.authoring.arguments import Arguments
from handlers.tools.authoring.tool import Tool
from handlers.tools.tool_source import BoundToolkit, BuiltinSource
from handlers.tools.toolbox import Toolbox
from routing.errors import BadArguments
from routing.types.decisions import SIZES, Size
from routing.types.llm import ToolCall, ToolSpec
from routing.types.toolkits import ToolCard, Toolkit, ToolText
from tests.handlers.tools.toolkits import NOTHING, SCHEMA, echo, run, scope


async def test_arguments_reach_the_function_by_name() -> None:
    assert await run("echo", json.dumps({"path": "ab", "count": 2})) == "abab"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ("", "'path' is a required property"),
        ('{"path": 3}', "path: 3 is not of type 'string'"),
        ('{"path": "a", "count": "two"}', "count: 'two' is not of type 'integer'"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
async def test_wrong_arguments_are_explained_with_the_schema(arguments: str, reason: str) -> None:
    with pytest.raises(BadArguments) as found:
        await run("echo", arguments)
    assert reason in str(found.value)
    assert json.dumps(SCHEMA) in str(found.value)
    assert len(str(found.value)) < 900


async def test_an_unknown_argument_is_explained() -> None:
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": "red"}')


async def test_a_null_omits_an_optional_argument() -> None:
    assert await run("echo", '{"path": "ab", "count": null}') == "ab"
    with pytest.raises(BadArguments, match="path: None is not of type 'string'"):
        await run("echo", '{"path": null}')
    with pytest.raises(BadArguments, match="colour"):
        await run("echo", '{"path": "a", "colour": null}')


@pytest.mark.parametrize(
    ("schema", "taken"),
    [
        ({"type": "integer", "default": 3}, {}),
        ({"$ref": "#/$defs/count"}, {}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {}),
        ({"type": ["integer", "null"]}, {"count": None}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"count": None}),
        ({"enum": [1, None]}, {"count": None}),
        ({}, {"count": None}),
        (True, {"count": None}),
    ],
)
async def test_a_null_that_the_schema_allows_is_a_value(schema: object, taken: dict[str, None]) -> None:
    asked = {"properties": {"count": schema}, "$defs": {"count": {"type": "integer"}}}
    assert await read(asked, {"count": None}) == taken


async def read(schema: Mapping[str, object], given: object, foreign: bool = False) -> Mapping[str, object]:
    """Read arguments, as JSON or as an object, against a schema of an object."""
    arguments = given if isinstance(given, str) else json.dumps(given)
    return await Arguments().read(
        ToolCall("1", "t", arguments), ToolSpec("t", "…", {"type": "object", **schema}), foreign
    )


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "#/properties/list"},
        {"items": [{"type": "string"}]},
        {"type": "any"},  # valid in draft 3
    ],
)
async def test_an_unresolvable_schema_is_left_to_the_tool(schema: dict[str, object], foreign: bool) -> None:
    assert await read({"properties": {"list": schema}}, {"list": ["a"]}, foreign) == {"list": ["a"]}


async def test_a_foreign_schema_with_an_invalid_id_is_left_to_the_tool() -> None:
    asked = {"$id": 5, "properties": {"$id": {"type": "string"}}}
    for schema in ({"$id": {"type": "string"}}, asked):
        assert await read(schema, {"a": 1}, foreign=True) == {"a": 1}
    with pytest.raises(BadArguments, match="not of type 'string'"):
        await read(asked, {"$id": 1}, foreign=True)


EVIL = {"q": {"type": "string", "pattern": "^(a+)+$"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": EVIL},
        {"properties": {"q": {"$ref": "#/default"}}, "default": EVIL["q"]},
        {"properties": {"q": {"$schema": "http://json-schema.org/draft-07/schema#", **EVIL["q"]}}},
        {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
        {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
        {"propertyNames": {"pattern": "^(a+)+$"}},
        {"properties": {"q": {"not": {"pattern": "!$"}}}},
        {"properties": {"q": {"oneOf": [{"pattern": "^a"}, {"pattern": "!$"}]}}},
    ],
)
async def test_outside_regular_expressions_are_not_run(schema: dict[str, object]) -> None:
    """Each would be refused; the time doubles with every letter."""
    slow = "a" * 18 + "!"
    given = {"q": slow, slow: 1}
    assert await read(schema, given, foreign=True) == given


async def test_other_parts_of_a_foreign_schema_are_checked() -> None:
    asked = {"properties": {**EVIL, "n": {"oneOf": [{"type": "integer"}]}}}
    for given in ({"q": 1}, {"n": "x"}):
        with pytest.raises(BadArguments, match=r"is not .*\(a\+\)\+"):
            await read(asked, given, foreign=True)
    with pytest.raises(BadArguments, match="colour"):
        await read({"additionalProperties": False}, {"colour": 1}, foreign=True)
    arguments, call, spec = Arguments(), ToolCall("1", "t", '{"q": "b"}'), ToolSpec("t", "…", asked)
    assert await arguments.read(call, spec, foreign=True) == {"q": "b"}
    with pytest.raises(BadArguments, match="does not match"):
        await arguments.read(call, spec)


ELSEWHERE: list[dict[str, object]] = [
    {"anyOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}]},
    {"allOf": [{"properties": {"a": {"type": "integer"}}}]},
    {"$ref": "#/$defs/all", "$defs": {"all": {"properties": {"a": {"type": "integer"}}}}},
]


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize("schema", ELSEWHERE)
async def test_arguments_outside_properties_are_accepted(schema: dict[str, object], foreign: bool) -> None:
    assert await read({"properties": {}, **schema}, {"a": 1}, foreign) == {"a": 1}
    with pytest.raises(BadArguments, match=r"'x'.* is not"):
        await read({"properties": {}, **schema}, {"a": "x"}, foreign)


async def test_a_bare_object_schema_allows_any_argument() -> None:
    assert await read(NOTHING, {"a": 1}, foreign=True) == {"a": 1}
    with pytest.raises(BadArguments, match="'a' was unexpected"):
        await read(NOTHING, {"a": 1})


async def test_two_schemas_with_one_name_are_kept_apart() -> None:
    arguments, call = Arguments(), ToolCall("1", "echo", '{"path": "a", "count": 2}')
    short = {"type": "object", "properties": {"path": {"type": "string"}}}
    for _ in range(2):
        assert await arguments.read(call, ToolSpec("echo", "…", SCHEMA)) == {"path": "a", "count": 2}
        with pytest.raises(BadArguments, match="count"):
            await arguments.read(call, ToolSpec("echo", "…", short))


FEW = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def two_sizes() -> Toolbox:
    """A tool whose second argument is shown only to the largest models."""
    texts = dict.fromkeys(SIZES, ToolText("…", FEW)) | {"XL": ToolText("…", SCHEMA)}
    kit = Toolkit("kit", "A kit.", tools=(ToolCard("echo", texts),))
    return Toolbox(BuiltinSource([BoundToolkit(kit, [Tool("echo", echo)])]))


@pytest.mark.parametrize("size", SIZES)
async def test_arguments_may_match_the_models_size_or_the_largest(size: Size) -> None:
    toolbox, asked = two_sizes(), replace(scope(), size=size)
    assert await toolbox.run(ToolCall("1", "echo", '{"path": "ab"}'), asked) == "ab"
    assert await toolbox.run(ToolCall("1", "echo", '{"path": "ab", "count": 2}'), asked) == "abab"


@pytest.mark.parametrize(("size", "schema"), [("S", FEW), ("XL", SCHEMA)])
async def test_wrong_arguments_are_explained_with_the_schema_shown_to_the_model(
    size: Size, schema: Mapping[str, object]
) -> None:
    with pytest.raises(BadArguments, match="colour") as found:
        await two_sizes().run(ToolCall("1", "echo", '{"path": "a", "colour": 1}'), replace(scope(), size=size))
    assert json.dumps(schema) in str(found.value)
    assert ('"count"' in str(found.value)) is (size == "XL")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"path": NaN}', "NaN is not a JSON number"),
        ('{"path": [-Infinity]}', "-Infinity is not a JSON number"),
        ('{"path": 1e999}', "the number 1e999 is too large"),
        (f'{{"path": {"9" * 5_000}}}', "a number with 5,000 digits is too large"),
    ],
)
async def test_non_json_numbers_are_explained(arguments: str, reason: str) -> None:
    with pytest.raises(BadArguments, match=reason):
        await run("echo", arguments)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"a\ud800b", "a\ufffdb"),
        (r"\uDFFF", "\ufffd"),
        ("\ud800", "\ufffd"),
        (r"\ud83d\ude00", "😀"),
        (r"\\ud800", r"\ud800"),
    ],
)
async def test_lone_surrogates_are_replaced(written: str, said: str) -> None:
    given = await read(NOTHING, f'{{"q": ["{written}"], "{written}": 1.5}}', foreign=True)
    assert given == {"q": [said], said: 1.5}


def many(count: int, **more: object) -> ToolSpec:
    """A tool with a schema too long for small models."""
    one = {"type": "string", "description": "word " * 20}
    properties = {f"p{number}": one for number in range(count)}
    return ToolSpec("t", "…", {"type": "object", "properties": properties, **more})


async def problem(spec: ToolSpec, arguments: str) -> str:
    with pytest.raises(BadArguments) as found:
        await Arguments().read(ToolCall("1", "t", arguments), spec)
    return str(found.value)


async def test_a_long_schema_is_reduced_to_the_wrong_part() -> None:
    told = await problem(many(170), '{"p3": 5}')
    assert "p3: 5 is not of type 'string'" in told
    assert '{"p3": {"type": "string"' in told
    assert '"p4"' not in told
    assert "Left out here: p0, p1, p2, p4" in told
    assert "(169 in all)" in told
    assert len(told) < 900


async def test_a_long_schema_lists_required_parameters_first() -> None:
    told = await problem(many(170, required=["p160", "p5"]), "{}")
    assert '{"p160": ' in told
    assert '"p5": ' in told
    assert '"p0": ' in told
    assert '"p100": ' not in told
    assert "It must have p160, p5." in told
    assert 1_500 < len(told) < 2_800


@pytest.mark.parametrize("arguments", ["{", "[]", '{"p1": 5, "long": 5}', '{"long": 5}', '{"list": 5}', '{"zzz": 1}'])
async def test_error_messages_have_a_bounded_length(arguments: str) -> None:
    long = {"type": "string", "enum": ["x" * 100] * 200}
    wide = many(2_000, additionalProperties=False)
    properties = {
        **wide.parameters["properties"],
        "long": long,
        "list": {"type": "array", "items": {"$ref": "#/$defs/a"}},
    }
    spec = replace(wide, parameters={**wide.parameters, "properties": properties, "$defs": {"a": {"type": "null"}}})
    told = await problem(spec, arguments)
    assert len(told) < 3_600
    assert ("list" not in arguments) or '"items": {"type": "null"}' in told, "a reference alone says nothing"


async def test_a_long_schema_without_parameters_is_truncated() -> None:
    told = await problem(ToolSpec("t", "…", {"type": "object", "maxProperties": 0, "x": "y" * 3_000}), '{"a": 1}')
    assert "Its schema begins: {" in told
    assert "(3,0" in told
    assert len(told) < 2_500


def nested(levels: int) -> dict[str, object]:
    """Arguments that a doubly recursive schema checks 2 ** levels times."""
    given: dict[str, object] = {}
    for _ in range(levels):
        given = {"x": given}
    return given


TWICE = {"properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"$defs": {"a": TWICE}, **TWICE}, nested(60)),
        ({"properties": {"x": {"uniqueItems": True}}}, {"x": [{"n": n} for n in range(20_000)]}),
        ({"properties": {"x": {"items": {"enum": [*map(str, range(5_000)), "z"]}}}}, {"x": ["z"] * 20_000}),
    ],
)
async def test_validation_of_a_foreign_schema_takes_bounded_time(
    schema: dict[str, object], given: dict[str, object]
) -> None:
    """Each would take minutes or longer; the tool checks instead."""
    asked = ToolSpec("t", "…", {"type": "object", **schema})
    arguments = Arguments()
    assert await arguments.read(ToolCall("1", "t", json.dumps(given)), asked, foreign=True) == given
    closed = ToolSpec("u", "…", {"type": "object", "properties": {"x": {"type": "array"}}})
    with pytest.raises(BadArguments, match="is not of type"):
        await arguments.read(ToolCall("1", "u", '{"x": 1}'), closed, foreign=True)


async def test_references_start_at_the_root_despite_ids() -> None:
    inner = {"$id": "http://a.b/c", "properties": {"n": {"$ref": "#/$defs/n"}}}
    schema = {"type": "object", "$id": "x", "properties": {"q": inner}, "$defs": {"n": {"type": "integer"}}}
    with pytest.raises(BadArguments, match=r"q\.n: 'x' is not of type 'integer'"):
        await read(schema, {"q": {"n": "x"}}, foreign=True)

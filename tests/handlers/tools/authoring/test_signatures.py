"""A function's signature as a JSON Schema that every provider accepts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import date
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import Field

from handlers.tools.authoring.decorator import tool
from handlers.tools.authoring.registration import native_tool, register
from routing.errors import ConfigError
from tests.handlers.tools.authoring.argument_types import Colour, Node, Opening, Pair, Point

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "number"},
        "y": {"type": "number", "default": 0.0},
        "tags": {"type": "array", "items": TEXT},
    },
    "required": ["x"],
}


def schema_of(hint: Any, default: Any = ...) -> Mapping[str, Any]:
    """The schema of a function with one parameter of this type."""

    def asked(value: Any) -> str:
        """Asked."""
        return ""

    asked.__annotations__ = {"value": hint}
    if default is not ...:
        asked.__defaults__ = (default,)
    parameters: Mapping[str, Any] = native_tool(tool(asked))["function"]["parameters"]
    return parameters


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, TEXT),
        (int, INTEGER),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list[int], {"type": "array", "items": INTEGER}),
        (list, {"type": "array", "items": {}}),
        (list[list[str]], {"type": "array", "items": {"type": "array", "items": TEXT}}),
        (set[str], {"type": "array", "items": TEXT, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[int, int], {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}),
        (tuple[int, str], {"type": "array", "items": {"anyOf": [INTEGER, TEXT]}, "minItems": 2, "maxItems": 2}),
        (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (int | str, {"anyOf": [INTEGER, TEXT]}),
        (int | None, {"anyOf": [INTEGER, {"type": "null"}]}),
        (date, {"type": "string", "format": "date"}),
        (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[str, "which one"], {"type": "string", "description": "which one"}),
        (Annotated[str, Field(description="this one")], {"type": "string", "description": "this one"}),
        (Point, POINT),
        (list[Point] | None, {"anyOf": [{"type": "array", "items": POINT}, {"type": "null"}]}),
        (
            Opening,
            {
                "type": "object",
                "properties": {"day": TEXT, "hour": INTEGER},
                "required": ["day"],
            },
        ),
        (
            Node,
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "its label"},
                    "children": {"type": "array", "items": {"type": "object"}, "default": []},
                },
                "required": ["name"],
            },
        ),
        (Pair, {"type": "object", "properties": {"first": POINT, "second": POINT}, "required": ["first", "second"]}),
    ],
)
def test_a_type_becomes_a_schema_without_references(hint: Any, schema: Mapping[str, Any]) -> None:
    assert schema_of(hint) == {"type": "object", "properties": {"value": schema}, "required": ["value"]}


@pytest.mark.parametrize(
    ("hint", "default", "schema"),
    [
        (int, 3, {"type": "integer", "default": 3}),
        (Optional[int], None, INTEGER),  # noqa: UP045 - the older form is read, too
        (list[Point] | None, None, {"type": "array", "items": POINT}),
        (int | str | None, None, {"anyOf": [INTEGER, TEXT]}),
        (int | None, 5, {"anyOf": [INTEGER, {"type": "null"}], "default": 5}),
        (Colour, Colour.RED, {"type": "string", "enum": ["red", "blue"], "default": "red"}),
        (int, Field(4, description="how many"), {"type": "integer", "default": 4, "description": "how many"}),
    ],
)
def test_parameters_with_defaults_are_optional(hint: Any, default: Any, schema: Mapping[str, Any]) -> None:
    assert schema_of(hint, default) == {"type": "object", "properties": {"value": schema}}


def test_annotations_take_precedence_over_the_docstring() -> None:
    def asked(
        a: Annotated[str, "here"], b: Annotated[str, Field(description="here")], c: Annotated[str, Field()]
    ) -> str:
        """Asked.

        Args:
            a: there
            b: there
            c: there
        """
        return ""

    told = native_tool(tool(asked))["function"]["parameters"]["properties"]
    assert [each["description"] for each in told.values()] == ["here", "here", "there"]


def positional(a: int, /) -> str:
    return ""


def starred(*numbers: int) -> str:
    return ""


def untyped(a) -> str:  # type: ignore[no-untyped-def]  # as authors may forget it
    return ""


def opaque(a: threading.Lock) -> str:
    return ""


def called_back(a: Callable[[], None]) -> str:
    return ""


def unknown(a: Missing) -> str:  # type: ignore[name-defined]  # noqa: F821 - refused below
    return ""


@pytest.mark.parametrize(
    ("function", "mend"),
    [
        (positional, "The parameter a of the tool positional has no name"),
        (starred, "The parameter numbers of the tool starred has no name"),
        (untyped, "The parameter a of the tool untyped has no type: write `a: str`"),
        (opaque, "parameters of the tool opaque .* Use plain types"),
        (called_back, "parameters of the tool called_back .* Use plain types"),
        (unknown, "types of the tool unknown .*Missing"),
    ],
)
def test_unsupported_signatures_are_refused(function: Callable[..., object], mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        register(tool(descriptions="Does it.")(function))

"""What is taken for valid at a glance is valid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, SchemaError

from handlers.tools.mcp.shapes import _FITS, is_plain

USUAL = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "q": {"type": "string", "description": "…", "minLength": 1, "enum": ["a", "b"], "default": None},
        "n": {"anyOf": [{"type": ["integer", "null"], "exclusiveMinimum": 0}, {"$ref": "#/$defs/a_b"}]},
        "l": {"type": "array", "items": {"type": "number"}, "uniqueItems": True},
    },
    "required": ["q"],
    "additionalProperties": False,
    "$defs": {"a_b": {"const": [1], "x-order": 1}},
}
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        1,
        -1,
        0.5,
        "",
        "object",
        "string",
        "#/a",
        "a b",
        [],
        ["object"],
        ["a", "a"],
        ["a", 1],
        [{}],
        {},
        {"a": 1},
    ]
)
KEYS = st.sampled_from([*_FITS, "pattern", "if", "contains", "x-mine", "dependencies"])
SCHEMAS = st.recursive(
    VALUES | st.just({"type": "object"}),
    lambda inner: st.dictionaries(KEYS, inner | st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2)),
    max_leaves=12,
)


def valid(schema: Any) -> bool:
    try:
        for kind in (Draft202012Validator, Draft7Validator):
            kind.check_schema(schema)
    except SchemaError:
        return False
    return True


def test_a_usual_schema_needs_no_other_look() -> None:
    assert is_plain(USUAL) and valid(USUAL)


@given(SCHEMAS)
def test_no_schema_that_is_wrong_is_let_through(schema: Any) -> None:
    assert not is_plain(schema) or valid(schema)


@pytest.mark.parametrize("key", _FITS)
@given(value=VALUES)
def test_nor_one_with_a_wrong_value_for_a_keyword(key: str, value: Any) -> None:
    assert not is_plain({key: value}) or valid({key: value})


@pytest.mark.parametrize(
    "schema", [{"pattern": "("}, {"items": [{}]}, {"enum": [1]}, {"minimum": True}, {"$ref": "a b"}]
)
def test_what_is_seldom_is_for_the_library(schema: Any) -> None:
    assert not is_plain(schema)

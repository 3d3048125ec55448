"""Which foreign schemas can be used; checking any of them is fast."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from handlers.tools.mcp.config import DEFAULT_LIMITS
from handlers.tools.mcp.schemas import _flat_metaschema, is_deeper, schema_fault

NODE = {"properties": {"next": {"$ref": "#/$defs/node"}, "also": {"$ref": "#/$defs/node"}}}


def doubling(levels: int, key: str = "allOf") -> dict[str, Any]:
    """Definitions that each use the next one twice, or in a property and a list."""
    found: dict[str, Any] = {}
    for number in range(levels):
        onward = {"$ref": f"#/$defs/a{number + 1}"}
        found[f"a{number}"] = {key: [onward, onward] if key != "properties" else {"x": onward, "y": onward}}
    return {**found, f"a{levels}": {"type": ["string", "object"]}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "object", "properties": {"q": {}, "n": {}}, "required": ["q"]}, ""),
        ({"type": "object", "$defs": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a"}}}, ""),
        ({"type": "object", "properties": {"$ref": {"type": "string"}}}, ""),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "definitions": {}}, ""),
        ({"type": "object", "properties": {"a": {"anyOf": [{}]}, "b": {"$ref": "#/properties/a/anyOf/0"}}}, ""),
        ({"type": "object", "$defs": {"a b": True}, "properties": {"b": {"$ref": "#/$defs/a%20b"}}}, ""),
        ({"type": "object", "$defs": {"node": NODE}, **NODE}, ""),
        ({"type": "object", "properties": {"self": {"$ref": "#"}}}, ""),
        ({"type": "string"}, "its schema is not one of an object"),
        ({"type": "object", "required": "q"}, 'its schema is not valid (required is "q", but must be of type array)'),
        ({"type": "object", "$ref": "file:///etc/passwd"}, "its schema refers to another document"),
        (
            {"type": "object", "x": {"$dynamicRef": "#a"}},
            "its schema refers to #a: only what begins with #/ is followed",
        ),
        ({"type": "object", "allOf": [{"$ref": "#/a"}]}, "its schema refers to #/a, which is not in it"),
        ({"type": "object", "properties": {"b": {"$ref": "#/a"}}}, "its schema refers to #/a, which is not in it"),
        ({"type": "object", "allOf": [{"anyOf": [{"$ref": "#"}]}]}, "its schema refers to itself without end"),
        ({"type": "object", "description": "x" * 40_000}, "its schema has 40,037 characters, and 32,768 are allowed"),
        (
            {"type": "object", "default": float("nan")},
            "its schema has a number that JSON does not know (NaN or Infinity)",
        ),
        (
            {"type": "object", "default": float("inf")},
            "its schema has a number that JSON does not know (NaN or Infinity)",
        ),
        ({"type": "object", "enum": ["\ud800"]}, "its schema contains half a character (a lone surrogate)"),
        ({"type": "object", "properties": {"\udfff": {}}}, "its schema contains half a character (a lone surrogate)"),
        ({"type": "object", "enum": ["\U000e0041"]}, "its schema hides a character in a name or a value (U+E0041)"),
        (
            {"type": "object", "properties": {"a\u202e": {}}},
            "its schema hides a character in a name or a value (U+202E)",
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "type": "object",
                "enum": [{"a": n} for n in range(501)],
            },
            "its schema has a list of more than 500 things that are not all texts or all numbers",
        ),
        (
            {"type": "object", "required": [{} for _ in range(3_000)]},
            "its schema has a list of more than 500 things that are not all texts or all numbers",
        ),
        ({"type": "object", "enum": [f"{n}" for n in range(2_000)]}, ""),
        ({"type": "object", "$schema": {}}, "its schema is not one of an object"),
    ],
)
def test_schemas(schema: dict[str, Any], fault: str) -> None:
    assert (schema_fault(schema, DEFAULT_LIMITS.schema_chars) or "") == fault


@pytest.mark.parametrize("key", ["allOf", "anyOf", "prefixItems", "properties"])
@pytest.mark.parametrize("place", ["root", "property"])
def test_exponential_references_are_counted_not_followed(key: str, place: str) -> None:
    """2 kB that would expand to 2 ** 40 parts."""
    first = {"$ref": "#/$defs/a0"}
    where: dict[str, Any] = {"allOf": [first]} if place == "root" else {"properties": {"q": first}}
    wide = {"type": "object", "$defs": doubling(40, key), **where}
    assert schema_fault(wide, DEFAULT_LIMITS.schema_chars) == (
        "its schema is too large: more than 5,000 parts with its references written out"
    )
    assert schema_fault({**wide, "$defs": doubling(9, key)}, DEFAULT_LIMITS.schema_chars) is None


def test_unused_definitions_do_not_count() -> None:
    assert schema_fault({"type": "object", "$defs": doubling(40)}, DEFAULT_LIMITS.schema_chars) is None


def test_recursive_definitions_are_visited_once() -> None:
    """Each refers to all others: 30! parts if expanded."""

    def circle(size: int) -> str:
        every = {f"x{n}": {"$ref": f"#/$defs/d{n}"} for n in range(size)}
        defined = {f"d{n}": {"properties": every} for n in range(size)}
        schema = {"type": "object", "$defs": defined, "properties": every}
        return schema_fault(json.loads(json.dumps(schema)), 100_000) or ""

    assert circle(6) == ""
    assert circle(30).startswith("its schema is too large")


KEYWORDS = (
    *("type", "enum", "required", "properties", "items", "anyOf", "$ref", "$defs", "pattern", "minimum", "maxLength"),
    *("uniqueItems", "if", "contains", "title", "dependentRequired", "prefixItems", "format", "$id", "$dynamicRef"),
)
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 1, -1, 0.5, "", "(", "object", "#/a", [], ["a", "a"], ["object"], {}, {"a": 1}, {"a": ["b"]}]
)
SCHEMAS = st.recursive(
    VALUES, lambda inner: st.dictionaries(st.sampled_from(KEYWORDS), inner | st.lists(inner, max_size=2)), max_leaves=8
)


@given(SCHEMAS)
def test_the_flat_metaschema_accepts_what_the_library_accepts(schema: Any) -> None:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        valid = False
    else:
        valid = True
    assert _flat_metaschema().is_valid(schema) == valid


def test_depth() -> None:
    held: Any = "x"
    for _ in range(100):
        held = [held]
    assert not is_deeper(held)
    assert is_deeper({"x": held})
    assert not is_deeper(None)


def test_a_draft_3_error_names_a_schema_among_the_types() -> None:
    draft = "http://json-schema.org/draft-03/schema#"
    schema = {"type": "object", "$schema": draft, "properties": {"a": {"extends": "any"}}}
    assert schema_fault(schema, DEFAULT_LIMITS.schema_chars) == (
        'its schema is not valid (properties.a.extends is "any", but must be of type schema, array)'
    )

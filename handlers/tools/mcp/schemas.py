"""Checks whether an untrusted JSON Schema can be given to a model and used for validation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import urljoin

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY

from handlers.tools.authoring.schemas import MAX_SUBSCHEMAS, IllegalSchema, invalid, referred
from handlers.tools.mcp.text import hidden_fault
from routing.errors import Reason

MAX_DEPTH = 100
"""Maximum nesting of objects and lists. The SDK fails at 255, providers at fewer."""
_QUOTED_CHARACTERS = 120
_MIXED_ITEMS = 500
"""Maximum length of a list of mixed types, because the library compares each item with each other."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS = ("$defs", "definitions")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Schemas under these keywords apply to the same value as the schema that has them."""


def schema_fault(schema: Mapping[str, Any], max_chars: int) -> Reason | None:
    """Why the schema of a tool can't be used, as a clause; None if it can. Takes 2 ms for a usual schema, up to a
    second for the largest, so call it in a thread."""
    if fault := hidden_fault(schema):
        return Reason("its schema {reason}", reason=fault)
    if is_deeper(schema):
        return Reason("its schema is nested too deeply")
    size = len(json.dumps(schema, ensure_ascii=False))
    if size > max_chars:
        return Reason("its schema has {size:,} characters, and {limit:,} are allowed", size=size, limit=max_chars)
    if schema.get("type") != "object" or not isinstance(schema.get("$schema", ""), str):
        return Reason("its schema is not one of an object")
    return next(filter(None, map(_part_fault, nested(schema))), None) or _validity_fault(schema)


def _part_fault(value: Any) -> Reason | None:
    if isinstance(value, list) and len(value) > _MIXED_ITEMS and _is_mixed(value):
        words = "its schema has a list of more than {limit} things that are not all texts or all numbers"
        return Reason(words, limit=_MIXED_ITEMS)
    for reference in _references(value):
        if not reference.startswith("#"):  # never fetched, neither here nor by the model's provider
            return Reason("its schema refers to another document")
        if reference[1:2] not in ("", "/"):
            words = "its schema refers to {reference}: only what begins with #/ is followed"
            return Reason(words, reference=reference[:_QUOTED_CHARACTERS])
    return None


def _validity_fault(schema: Mapping[str, Any]) -> Reason | None:
    try:
        validator = validator_for(schema, default=Draft202012Validator)
        if validator is not Draft202012Validator or next(_flat_metaschema().iter_errors(schema), None):
            validator.check_schema(schema)
        if _Parts(schema).count(schema) > MAX_SUBSCHEMAS:
            words = "its schema is too large: more than {limit:,} parts with its references written out"
            return Reason(words, limit=MAX_SUBSCHEMAS)
    except SchemaError as error:
        return Reason("its schema is not valid ({error})", error=invalid(error))
    except IllegalSchema as error:
        return Reason("its schema {reason}", reason=error.reason)
    except RecursionError:  # a chain of references
        return Reason("its schema is nested too deeply")
    return None


@cache
def _flat_metaschema() -> Any:
    """The metaschema of 2020-12 with its vocabularies in one document. The library takes five times as long for the
    original, with its dynamic references; a schema that fails here is checked against that."""
    flat: dict[str, Any] = {"type": ["object", "boolean"], "properties": {}, "$defs": {}}
    for vocabulary in Draft202012Validator.META_SCHEMA["allOf"]:
        uri = urljoin(Draft202012Validator.META_SCHEMA["$id"], vocabulary["$ref"])
        contents = json.loads(json.dumps(REGISTRY.contents(uri)).replace('"$dynamicRef": "#meta"', '"$ref": "#"'))
        flat["properties"] |= contents["properties"]
        flat["$defs"] |= contents.get("$defs", {})
    return Draft202012Validator(flat, format_checker=Draft202012Validator.FORMAT_CHECKER)


def is_deeper(value: object) -> bool:
    """Whether objects and lists are nested deeper than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def nested(value: Any) -> Iterator[Any]:
    """The value and everything in it."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        waiting += _inside(value)


def _inside(value: Any) -> Iterator[Any] | list[Any]:
    return iter(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value[key] for key in _REFERENCES if isinstance(value.get(key), str))


def _is_mixed(values: list[Any]) -> bool:
    return not any(all(isinstance(each, kind) for each in values) for kind in (str, int | float))


class _Parts:
    """Counts the objects in a schema with its references written out, and visits each object once."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._counts: dict[int, int] = {}
        self._inside: set[int] = set()
        self._ends: dict[int, bool] = {}
        """Whether following references from an object, for the same value, came to an end."""

    def count(self, value: Any) -> int:
        """Raises IllegalSchema for a reference to nothing, or to itself for the same value."""
        if isinstance(value, list):
            return sum(map(self.count, value))
        if not isinstance(value, dict) or id(value) in self._inside:  # a recursive schema ends with the value
            return 0
        if id(value) not in self._counts:
            self._follow(value)
            self._inside.add(id(value))
            skipped = _DEFINITIONS if value is self._root else ()
            parts = sum(self.count(each) for key, each in value.items() if key not in skipped)
            self._counts[id(value)] = 1 + parts + self.count(self._target(value))
            self._inside.remove(id(value))
        return self._counts[id(value)]

    def _follow(self, value: dict[str, Any]) -> None:
        if id(value) not in self._ends:
            self._ends[id(value)] = False
            for each in (self._target(value), *(value.get(key) for key in _SAME_VALUE)):
                for schema in each if isinstance(each, list) else [each]:
                    if isinstance(schema, dict):
                        self._follow(schema)
            self._ends[id(value)] = True
        elif not self._ends[id(value)]:
            raise IllegalSchema("refers to itself without end")

    def _target(self, value: Mapping[str, Any]) -> Any:
        reference = value.get("$ref")
        return referred(self._root, reference) if isinstance(reference, str) else None

"""Whether a schema of somebody else's can be given to a model and be checked against."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for

from handlers.tools.mcp.shapes import is_plain
from handlers.tools.mcp.texts import told_fault
from handlers.tools.schemas import MOST_PARTS, IllegalSchema, referred

_MOST_REMEMBERED = 4096
_MOST_QUOTED = 120
_MOST_MIXED = 500
"""Things of several kinds in one list: whether all are different is found by comparing each with each."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DEFINITIONS = ("$defs", "definitions")
_OF_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SAME_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Schemas under these are compared with the same value as the one that has them."""

_faults: dict[bytes, str] = {}


def schema_fault(schema: Mapping[str, Any], most_chars: int) -> str:
    """Why it can't be used; empty if it can. Takes about a millisecond; a second for the largest and oddest."""
    text, fault = told_fault(schema)
    if fault:
        return f"its schema {fault}"
    if len(text) > most_chars:
        return f"its schema has {len(text):,} characters, and {most_chars:,} are allowed"
    digest = hashlib.sha256(text.encode()).digest()
    if digest not in _faults:
        if len(_faults) >= _MOST_REMEMBERED:
            _faults.clear()
        _faults[digest] = _fault(json.loads(text))
    return _faults[digest]


def _fault(schema: dict[str, Any]) -> str:
    if schema.get("type") != "object":
        return "its schema is not one of an object"
    for reference in _references(schema):
        if not reference.startswith("#"):
            return "its schema refers to another document"  # which nobody should fetch
        if reference[1:2] not in ("", "/"):
            return f"its schema refers to {reference[:_MOST_QUOTED]}: only what begins with #/ is followed"
    try:
        if any(map(_mixed, _nested(schema))):
            return f"its schema has a list of more than {_MOST_MIXED} things that are not all texts or all numbers"
        if not is_plain(schema):
            validator_for(schema, default=Draft202012Validator).check_schema(schema)
        if _Parts(schema).count(schema) > MOST_PARTS:
            return f"its schema is too large: more than {MOST_PARTS:,} parts with its references written out"
    except SchemaError as error:
        where = ".".join(str(part) for part in error.absolute_path)
        return f"its schema is not valid ({where or 'root'}: {error.message[:_MOST_QUOTED]})"
    except IllegalSchema as error:
        return f"its schema {error}"
    except RecursionError:
        return "its schema is nested too deeply"
    return ""


class _Parts:
    """Counts the objects in a schema, and those of each reference where it stands. It looks at each of them once,
    however many they are when they are written out. Raises IllegalSchema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._counted: dict[int, int] = {}
        self._inside: set[int] = set()
        self._followed: dict[int, bool] = {}

    def count(self, value: Any) -> int:
        if isinstance(value, list):
            return sum(map(self.count, value))
        if not isinstance(value, dict) or id(value) in self._inside:  # what is in itself ends with what is given
            return 0
        if id(value) not in self._counted:
            self._follow(value)
            self._inside.add(id(value))
            unread = _DEFINITIONS if value is self._root else ()
            within = sum(self.count(each) for key, each in value.items() if key not in unread)
            self._counted[id(value)] = 1 + within + self.count(self._target(value))
            self._inside.remove(id(value))
        return self._counted[id(value)]

    def _follow(self, value: dict[str, Any]) -> None:
        """Raises for what leads back to itself without a step into what is given."""
        if id(value) not in self._followed:
            self._followed[id(value)] = False
            for each in _objects([self._target(value), *(value.get(key) for key in _SAME_PLACE)]):
                self._follow(each)
            self._followed[id(value)] = True
        elif not self._followed[id(value)]:
            raise IllegalSchema("refers to itself without end")

    def _target(self, value: Mapping[str, Any]) -> Any:
        reference = value.get("$ref")
        return referred(self._root, reference) if isinstance(reference, str) else None


def _objects(values: list[Any]) -> Iterator[dict[str, Any]]:
    for value in values:
        if isinstance(value, dict):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, dict))


def _references(schema: Any) -> Iterator[str]:
    for each in _nested(schema):
        if isinstance(each, dict):
            yield from (each[key] for key in _REFERENCES if isinstance(each.get(key), str))


def _nested(value: Any) -> Iterator[Any]:
    """It and all that is in it."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value


def _mixed(value: Any) -> bool:
    """Whether it has a list in which each has to be compared with each."""
    lists = (each for key, each in value.items() if key not in _OF_SCHEMAS) if isinstance(value, dict) else ()
    return any(
        len(each) > _MOST_MIXED and len({*map(_kind, each)} - {None}) != 1 for each in lists if isinstance(each, list)
    )


def _kind(value: object) -> type | None:
    return str if isinstance(value, str) else float if isinstance(value, int | float) else None

"""Schemas that are valid at a glance, as nearly all are: the library takes 20 ms for one of 6 kB, this 0.2 (measured),
and a server may list a thousand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_TYPES = ("object", "string", "integer", "number", "boolean", "array", "null")
_REFERENCE = re.compile(r"#(/[$A-Za-z0-9_.-]+)*")
_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")


def is_plain(schema: Any) -> bool:
    """Whether it is a valid schema of 2020-12 and of draft 7 without anything that is seldom; False means nothing.
    Raises RecursionError."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    return all(key.startswith("x-") or ((fits := _FITS.get(key)) and fits(value)) for key, value in schema.items())


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _choices(value: Any) -> bool:
    return _texts(value) and bool(value)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _type(value: Any) -> bool:
    return value in _TYPES if isinstance(value, str) else _choices(value) and all(each in _TYPES for each in value)


def _anything(value: Any) -> bool:
    return True


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_plain, value))


def _by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_plain, value.values()))


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "$schema": lambda value: value in _DIALECTS,
    "$ref": lambda value: isinstance(value, str) and _REFERENCE.fullmatch(value) is not None,
    "type": _type,
    "enum": _choices,
    "required": _texts,
    **dict.fromkeys(("description", "title", "$comment", "format"), _text),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), _flag),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count),
    **dict.fromkeys(("default", "const"), _anything),
    "examples": _list,
    **dict.fromkeys(("properties", "$defs", "definitions"), _by_name),
    **dict.fromkeys(("items", "additionalProperties", "not"), is_plain),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _schemas),
}

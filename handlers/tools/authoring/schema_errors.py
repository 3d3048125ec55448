"""Shows a model the relevant part of a tool's schema after a wrong call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from handlers.tools.authoring.schemas import part
from routing.types.llm import ToolSpec

MAX_CHARS = 2_000
"""Maximum characters of a schema. It stays in the conversation, and a small model has 8,000 tokens in total."""
MAX_NAMED, NAME_CHARS = 20, 40


def wanted(spec: ToolSpec, parameter: str = "") -> str:
    """The tool's schema. If it is too long: the part about the wrong `parameter`, or the required parameters and as
    many others as fit. Names what is omitted."""
    text = _json(spec.parameters)
    if len(text) <= MAX_CHARS:
        return f"Its schema: {text}"
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return f"Its schema begins: {text[:MAX_CHARS]}… ({len(text):,} characters in all)"
    if parameter in properties:
        own = _json({parameter: part(spec.parameters, parameter)})
        cut = f"{own[:MAX_CHARS]}… ({len(own):,} characters)" if len(own) > MAX_CHARS else own
        return f"Of its parameters this one is: {cut}. {_others([name for name in properties if name != parameter])}"
    return _as_many(spec.parameters, properties)


def _as_many(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    needed = [name for name in schema.get("required", ()) if name in properties]
    told: dict[str, Any] = {}
    room = MAX_CHARS
    for name in dict.fromkeys((*needed, *properties)):
        own = part(schema, name)
        room -= len(_json({name: own}))
        if room < 0:
            break
        told[name] = own
    must = f" It must have {_named(needed)}." if needed else ""
    return f"Some of its parameters: {_json(told)}. {_others([name for name in properties if name not in told])}{must}"


def _others(names: list[str]) -> str:
    return f"Left out here: {_named(names)}." if names else ""


def _named(names: list[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > MAX_NAMED else ""
    return ", ".join(name[:NAME_CHARS] for name in names[:MAX_NAMED]) + more


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

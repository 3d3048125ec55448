"""The arguments of a tool call: JSON, and what the tool's schema asks for."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from routing.calls import ToolCall, ToolSpec
from routing.errors import BadArguments

MOST_QUOTED = 300
MOST_VALIDATORS = 1_024
_ELSEWHERE = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"))
"""Beside these `properties` may not be all the arguments that there are."""

log = logging.getLogger("handlers.tools")


class Arguments:
    """Checks arguments; the library that knows JSON Schema is imported at the first call, in a thread."""

    def __init__(self) -> None:
        self._validators: dict[tuple[str, str, bool], Any] = {}
        self._library: Any = None
        self._lenient: Any = None

    async def read(self, call: ToolCall, spec: ToolSpec, foreign: bool = False) -> Mapping[str, Any]:
        """The arguments by name, without the nulls by which small models leave something out. Raises BadArguments,
        saying what is wrong and what is right. Of a `foreign` schema only what takes bounded time is checked: whoever
        wrote it judges the rest, names that it does not have included."""
        try:
            given = json.loads(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"The arguments of {call.name} are not valid JSON ({error}). {_wanted(spec)}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"The arguments of {call.name} are not a JSON object. {_wanted(spec)}")
        validator = await self._validator(spec, foreign)
        try:
            given = {
                name: value for name, value in given.items() if value is not None or not _left_out(name, validator)
            }
            wrong = next(validator.iter_errors(given), None)
        except Exception as error:  # somebody else's schema that can't be followed: the tool has to judge by itself
            log.warning("[Tools] The schema of %s can't be followed (%s)", call.name, type(error).__name__)
            return given
        if wrong is not None:
            where = ".".join(str(part) for part in wrong.absolute_path)
            reason = f"{where}: {wrong.message}" if where else wrong.message
            raise BadArguments(f"The arguments of {call.name} are wrong ({reason[:MOST_QUOTED]}). {_wanted(spec)}")
        return given

    async def _validator(self, spec: ToolSpec, foreign: bool) -> Any:
        if self._library is None:
            self._library = await asyncio.to_thread(importlib.import_module, "jsonschema")
            self._lenient = _lenient(self._library)
        closed = not foreign and not _ELSEWHERE & spec.parameters.keys()  # a function takes no argument that it lacks
        text = json.dumps({"additionalProperties": False, **spec.parameters} if closed else spec.parameters)
        key = spec.name, text, foreign  # a tool may have a schema for each size, or get a new one
        if key not in self._validators:
            if len(self._validators) >= MOST_VALIDATORS:
                self._validators.clear()
            kind = self._lenient if foreign else self._library.Draft202012Validator
            self._validators[key] = kind(json.loads(text, object_hook=_undated if foreign else None))
        return self._validators[key]


def _lenient(library: Any) -> Any:
    """The validator without regular expressions, which may take longer than the world lasts and hold every thread
    meanwhile, and without what is wrong when they are not looked at."""
    usual = library.Draft202012Validator.VALIDATORS

    def more(validator: Any, allowed: Any, given: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Which names are further ones, the patterns decide."""
        if "patternProperties" not in schema:
            yield from usual["additionalProperties"](validator, allowed, given, schema) or ()

    unread = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "not", "if", "contains")
    others = {"oneOf": usual["anyOf"], "additionalProperties": more}
    return library.validators.extend(library.Draft202012Validator, dict.fromkeys(unread, _anything) | others)


def _anything(*_: Any) -> tuple[()]:
    return ()


def _undated(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the dialect by which the library would take up its own validator again."""
    return {key: each for key, each in schema.items() if key != "$schema" or isinstance(each, dict)}


def _left_out(name: str, validator: Any) -> bool:
    """Whether a null can only mean that it is left out: it need not be given, and may not be null."""
    wanted = validator.schema.get("properties", {}).get(name)
    if wanted is None or name in validator.schema.get("required", ()):
        return False
    return not validator.evolve(schema=wanted).is_valid(None)


def _wanted(spec: ToolSpec) -> str:
    return f"Its schema: {json.dumps(spec.parameters)}"

"""The arguments of a tool call: JSON, and what the tool's schema asks for."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from handlers.tools.authoring.schema_errors import wanted
from handlers.tools.authoring.validation import Leniency
from routing.errors import BadArguments
from routing.text import storable
from routing.types.llm import ToolCall, ToolSpec

MOST_QUOTED = 300
MOST_VALIDATORS = 1_024
_ELSEWHERE = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"))
"""Beside these `properties` may not be all the arguments that there are."""
_HALVES = re.compile(r"\\u[dD][89abAB-F]|[\ud800-\udfff]")
"""Where half a character may be, written or escaped."""

log = logging.getLogger("handlers.tools")


class Arguments:
    """Checks arguments; the library that knows JSON Schema is imported at the first call, in a thread."""

    def __init__(self) -> None:
        self._validators: dict[tuple[str, str, bool], Any] = {}
        self._library: Any = None
        self._leniency: Leniency | None = None

    async def read(self, call: ToolCall, spec: ToolSpec, foreign: bool = False) -> Mapping[str, Any]:
        """The arguments by name, without the nulls by which small models leave something out; half a character becomes
        the replacement sign. Raises BadArguments, saying what is wrong and what is right. Of a `foreign` schema only
        what takes bounded time is checked: whoever wrote it judges the rest, names that it does not have included."""
        try:
            given = _parsed(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"The arguments of {call.name} are not valid JSON ({error}). {wanted(spec)}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"The arguments of {call.name} are not a JSON object. {wanted(spec)}")
        validator = await self._validator(spec, foreign)
        try:
            given = {
                name: value for name, value in given.items() if value is not None or not _left_out(name, validator)
            }
            if not foreign:
                given = {name: _chosen(value, _property(name, validator)) for name, value in given.items()}
            wrong = next(validator.iter_errors(given), None)
        except Exception as error:  # an outside schema that can't be resolved: the tool has to check by itself
            log.warning("[Tools] The schema of %s can't be followed (%s)", call.name, type(error).__name__)
            return given
        if wrong is not None:
            path = [str(part) for part in wrong.absolute_path]
            reason = f"{'.'.join(path)}: {wrong.message}" if path else wrong.message
            told = wanted(spec, path[0] if path else "")
            raise BadArguments(f"The arguments of {call.name} are wrong ({reason[:MOST_QUOTED]}). {told}")
        return given

    async def _validator(self, spec: ToolSpec, foreign: bool) -> Any:
        if self._library is None or self._leniency is None:
            self._library = await asyncio.to_thread(importlib.import_module, "jsonschema")
            self._leniency = Leniency(self._library)
        closed = not foreign and not _ELSEWHERE & spec.parameters.keys()  # a function takes no argument that it lacks
        text = json.dumps({"additionalProperties": False, **spec.parameters} if closed else spec.parameters)
        key = spec.name, text, foreign  # a tool may have a schema for each size, or get a new one
        if key not in self._validators:
            if len(self._validators) >= MOST_VALIDATORS:
                self._validators.clear()
            kind = self._leniency.validator if foreign else self._library.Draft202012Validator
            self._validators[key] = kind(json.loads(text))
        self._leniency.begin()
        return self._validators[key]


def _parsed(text: str) -> Any:
    """Raises ValueError also for numbers that JSON does not know or that no computer bears."""
    given = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    if _HALVES.search(text):
        given = json.loads(storable(json.dumps(given, ensure_ascii=False)))
    return given


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number there: leave it out, or give a text if that is wanted")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads 4,300 digits
        raise ValueError(f"a number with {len(digits):,} digits is too large") from None


def _left_out(name: str, validator: Any) -> bool:
    """Whether a null can only mean that it is left out: it need not be given, and may not be null."""
    own = _property(name, validator)
    if own is None or name in validator.schema.get("required", ()):
        return False
    return not validator.evolve(schema=own).is_valid(None)


def _property(name: str, validator: Any) -> Any:
    """The schema of one argument; None for one that has none."""
    return validator.schema.get("properties", {}).get(name)


def _chosen(value: Any, schema: Any) -> Any:
    """The choice that a text names but for blanks and case (` SMART ` is `smart`), else the value itself."""
    choices = schema.get("enum", ()) if isinstance(schema, dict) else ()
    if not isinstance(value, str) or value in choices:
        return value
    word = value.strip().casefold()
    return next((each for each in choices if isinstance(each, str) and each.casefold() == word), value)

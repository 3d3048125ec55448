"""Parses and checks the arguments of tool calls: JSON that matches the tool's schema."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from handlers.tools.authoring.schemas import part
from handlers.tools.authoring.validation import MALFORMED, BoundedValidator, TooMuch
from routing.errors import BadArguments
from routing.text import storable
from routing.types.llm import ToolCall, ToolSpec

MAX_QUOTED_CHARACTERS = 300
MAX_VALIDATORS = 1_024
MAX_SCHEMA_CHARACTERS = 2_000
"""Maximum characters of a schema in an error. It stays in the conversation, and a small model has 8,000 tokens in
total."""
MAX_NAMED, NAME_CHARACTERS = 20, 40
_ELSEWHERE = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"))
"""With these keywords, `properties` may not list all arguments."""
_SURROGATE = re.compile(r"\\u[dD][89abAB-F]|[\ud800-\udfff]")
"""Matches an unpaired surrogate, raw or escaped."""

log = logging.getLogger("handlers.tools")


class Arguments:
    """Checks arguments. The JSON Schema library is imported in a thread on first use."""

    def __init__(self) -> None:
        self._validators: dict[tuple[int, bool], tuple[Mapping[str, Any], Any]] = {}
        self._library: Any = None
        self._bounded: BoundedValidator | None = None

    async def read(self, call: ToolCall, spec: ToolSpec, foreign: bool = False) -> Mapping[str, Any]:
        """The arguments by name. Drops nulls that stand for omitted arguments, which small models send, and replaces
        unpaired surrogates. Raises BadArguments with the mistake and the schema. For a `foreign` schema, only keywords
        with bounded cost are checked; its tool must check the rest, including unknown names."""
        try:
            given = _parsed(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"The arguments of {call.name} are not valid JSON ({error}). {wanted(spec)}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"The arguments of {call.name} are not a JSON object. {wanted(spec)}")
        await self._load()
        from jsonschema.exceptions import UnknownType  # both are imported with the library
        from referencing.exceptions import Unresolvable

        try:
            validator = self._validator(spec, foreign)
            given = {
                name: value for name, value in given.items() if value is not None or not _left_out(name, validator)
            }
            if not foreign:
                given = {name: _chosen(value, _property(name, validator)) for name, value in given.items()}
            wrong = next(validator.iter_errors(given), None)
        except (
            UnknownType,
            Unresolvable,
            TooMuch,
            *MALFORMED,
        ) as error:  # a schema from outside: its tool must check for itself
            log.warning("[Tools] The schema of %s can't be followed (%s)", call.name, type(error).__name__)
            return given
        if wrong is not None:
            path = [str(part) for part in wrong.absolute_path]
            reason = f"{'.'.join(path)}: {wrong.message}" if path else wrong.message
            schema = wanted(spec, path[0] if path else "")
            raise BadArguments(f"The arguments of {call.name} are wrong ({reason[:MAX_QUOTED_CHARACTERS]}). {schema}")
        return given

    async def _load(self) -> None:
        if self._library is None:
            self._library = await asyncio.to_thread(importlib.import_module, "jsonschema")
            self._bounded = BoundedValidator(self._library)

    def _validator(self, spec: ToolSpec, foreign: bool) -> Any:
        assert self._bounded is not None, "set by _load"
        schema, key = spec.parameters, (id(spec.parameters), foreign)
        if key not in self._validators:
            if len(self._validators) >= MAX_VALIDATORS:
                self._validators.clear()
            kind = self._bounded.validator if foreign else self._library.Draft202012Validator
            closed = not foreign and not _ELSEWHERE & schema.keys()  # a function rejects unknown arguments
            validator = kind({"additionalProperties": False, **schema} if closed else schema)
            self._validators[key] = schema, validator  # the schema is kept so that its id stays its own
        self._bounded.begin()
        return self._validators[key][1]


def _parsed(text: str) -> Any:
    """Parses JSON. Raises ValueError, also for NaN, infinity and numbers that are too large."""
    given = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    if _SURROGATE.search(text):
        given = json.loads(storable(json.dumps(given, ensure_ascii=False)))
    return given


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number: leave it out, or pass it as a string")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python limits integers to 4,300 digits
        raise ValueError(f"a number with {len(digits):,} digits is too large") from None


def _left_out(name: str, validator: Any) -> bool:
    """Whether a null can only mean an omitted argument: it is optional and not nullable."""
    own = _property(name, validator)
    if own is None or name in validator.schema.get("required", ()):
        return False
    return not validator.evolve(schema=own).is_valid(None)


def _property(name: str, validator: Any) -> Any:
    """The schema of one argument; None if it has none."""
    return validator.schema.get("properties", {}).get(name)


def _chosen(value: Any, schema: Any) -> Any:
    """The enum value that a text matches, ignoring case and surrounding spaces (` SMART ` becomes `smart`); else the
    value itself."""
    choices = schema.get("enum", ()) if isinstance(schema, dict) else ()
    if not isinstance(value, str) or value in choices:
        return value
    word = value.strip().casefold()
    return next((each for each in choices if isinstance(each, str) and each.casefold() == word), value)


def wanted(spec: ToolSpec, parameter: str = "") -> str:
    """The tool's schema. If it is too long: the part about the wrong `parameter`, or the required parameters and as
    many others as fit. Names what is omitted."""
    text = _json(spec.parameters)
    if len(text) <= MAX_SCHEMA_CHARACTERS:
        return f"Its schema: {text}"
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return f"Its schema begins: {text[:MAX_SCHEMA_CHARACTERS]}… ({len(text):,} characters in all)"
    if parameter in properties:
        own = _json({parameter: part(spec.parameters, parameter)})
        cut = f"{own[:MAX_SCHEMA_CHARACTERS]}… ({len(own):,} characters)" if len(own) > MAX_SCHEMA_CHARACTERS else own
        return f"The schema of this parameter: {cut}. {_others([name for name in properties if name != parameter])}"
    return _excerpt(spec.parameters, properties)


def _excerpt(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    needed = [name for name in schema.get("required", ()) if name in properties]
    shown: dict[str, Any] = {}
    room = MAX_SCHEMA_CHARACTERS
    for name in dict.fromkeys((*needed, *properties)):
        own = part(schema, name)
        room -= len(_json({name: own}))
        if room < 0:
            break
        shown[name] = own
    must = f" It must have {_named(needed)}." if needed else ""
    return (
        f"Some of its parameters: {_json(shown)}. {_others([name for name in properties if name not in shown])}{must}"
    )


def _others(names: list[str]) -> str:
    return f"Left out here: {_named(names)}." if names else ""


def _named(names: list[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > MAX_NAMED else ""
    return ", ".join(name[:NAME_CHARACTERS] for name in names[:MAX_NAMED]) + more


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

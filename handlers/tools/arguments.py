"""The arguments of a tool call: JSON, and what the tool's schema asks for."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from routing.calls import ToolCall, ToolSpec
from routing.errors import BadArguments

MOST_QUOTED = 300
MOST_VALIDATORS = 1_024

log = logging.getLogger("handlers.tools")


class Arguments:
    """Checks arguments; the library that knows JSON Schema is imported at the first call, in a thread."""

    def __init__(self) -> None:
        self._validators: dict[tuple[str, str], Any] = {}
        self._library: Any = None

    async def read(self, call: ToolCall, spec: ToolSpec) -> Mapping[str, Any]:
        """The arguments by name, without the nulls by which small models leave something out. Raises BadArguments,
        saying what is wrong and what is right."""
        try:
            given = json.loads(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"The arguments of {call.name} are not valid JSON ({error}). {_wanted(spec)}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"The arguments of {call.name} are not a JSON object. {_wanted(spec)}")
        validator = await self._validator(spec)
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

    async def _validator(self, spec: ToolSpec) -> Any:
        if self._library is None:
            self._library = await asyncio.to_thread(importlib.import_module, "jsonschema")
        strict = {"additionalProperties": False, **spec.parameters}  # a function takes no argument that it lacks
        key = spec.name, json.dumps(strict)  # a tool may have a schema for each size, or get a new one
        if key not in self._validators:
            if len(self._validators) >= MOST_VALIDATORS:
                self._validators.clear()
            self._validators[key] = self._library.Draft202012Validator(strict)
        return self._validators[key]


def _left_out(name: str, validator: Any) -> bool:
    """Whether a null can only mean that it is left out: it need not be given, and may not be null."""
    wanted = validator.schema.get("properties", {}).get(name)
    if wanted is None or name in validator.schema.get("required", ()):
        return False
    return not validator.evolve(schema=wanted).is_valid(None)


def _wanted(spec: ToolSpec) -> str:
    return f"Its schema: {json.dumps(spec.parameters)}"

"""The arguments of a tool call: JSON, and what the tool's schema asks for."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping
from typing import Any

from routing.calls import ToolCall, ToolSpec
from routing.errors import BadArguments

MOST_QUOTED = 300


class Arguments:
    """Checks arguments; the library that knows JSON Schema is imported at the first call, in a thread."""

    def __init__(self) -> None:
        self._validators: dict[str, Any] = {}
        self._library: Any = None

    async def read(self, call: ToolCall, spec: ToolSpec) -> Mapping[str, Any]:
        """The arguments by name. Raises BadArguments, saying what is wrong and what is right."""
        try:
            given = json.loads(call.arguments) if call.arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"The arguments of {call.name} are not valid JSON ({error}). {_wanted(spec)}") from None
        if not isinstance(given, dict):
            raise BadArguments(f"The arguments of {call.name} are not a JSON object. {_wanted(spec)}")
        wrong = next((await self._validator(spec)).iter_errors(given), None)
        if wrong is not None:
            where = ".".join(str(part) for part in wrong.absolute_path)
            reason = f"{where}: {wrong.message}" if where else wrong.message
            raise BadArguments(f"The arguments of {call.name} are wrong ({reason[:MOST_QUOTED]}). {_wanted(spec)}")
        return given

    async def _validator(self, spec: ToolSpec) -> Any:
        if self._library is None:
            self._library = await asyncio.to_thread(importlib.import_module, "jsonschema")
        if spec.name not in self._validators:
            strict = {"additionalProperties": False, **spec.parameters}  # a function takes no argument that it lacks
            self._validators[spec.name] = self._library.Draft202012Validator(strict)
        return self._validators[spec.name]


def _wanted(spec: ToolSpec) -> str:
    return f"Its schema: {json.dumps(spec.parameters)}"

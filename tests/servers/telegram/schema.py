"""The official Bot API schema as a checker: every parameter of every call, down to the last nested field.

Deliberately stricter than the real server, which ignores unknown fields.
Checkers are compiled on first use and kept, so a call costs some dictionary look-ups.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.servers.telegram.parameters import PRIMITIVES, Check, Method, Mismatch, Parameter
from tests.servers.telegram.values import Json

DATA = Path(__file__).with_name("telegram-bot-api.json")

_CONSTANT = re.compile(r"(?:always|must be) [\"“]?(\w+)[\"”]?[.,;]?(?: |$)")
_ARRAY = "Array of "


class Schema:
    """The compiled document."""

    def __init__(self, document: Json) -> None:
        self._methods: Json = {name.lower(): method for name, method in document["methods"].items()}
        self._types: Json = document["types"]
        self._compiled: dict[str, Method] = {}
        self._checks: dict[str, Check] = {}
        self.version: str = document["version"]

    def method(self, name: str) -> Method | None:
        """Names are matched without regard to case, as the server does; None when there is no such method."""
        key = name.lower()
        if key not in self._compiled:
            if key not in self._methods:
                return None
            self._compiled[key] = self._compile(self._methods[key])
        return self._compiled[key]

    def describe(self, type_name: str, field: str) -> str:
        """The official description of a field."""
        return str(next(f["description"] for f in self._types[type_name]["fields"] if f["name"] == field))

    def field_names(self, type_name: str) -> frozenset[str]:
        return frozenset(field["name"] for field in self._types[type_name]["fields"])

    def check(self, type_name: str) -> Check:
        """A function (value, path) that raises Mismatch when the value is not of that type."""
        if type_name not in self._checks:
            self._checks[type_name] = self._compile_type(type_name)
        return self._checks[type_name]

    def _compile(self, method: Json) -> Method:
        parameters = {
            field["name"]: Parameter(
                field["name"], tuple(field["types"]), field["required"], self._any_of(field["types"])
            )
            for field in method.get("fields", [])
        }
        required = tuple(name for name, parameter in parameters.items() if parameter.required)
        return Method(method["name"], parameters, required, tuple(method["returns"]))

    def _compile_type(self, name: str) -> Check:
        if name in PRIMITIVES:
            return _primitive(name)
        if name.startswith(_ARRAY):
            return self._array(name.removeprefix(_ARRAY))
        if "subtypes" in self._types[name]:
            return self._any_of(self._types[name]["subtypes"])
        return self._object(name)

    def _array(self, item: str) -> Check:
        def check(value: Any, path: str) -> None:
            if not isinstance(value, list):
                raise Mismatch(path, f"expected an array of {item}")
            each = self.check(item)
            for index, element in enumerate(value):
                each(element, f"{path}[{index}]")

        return check

    def _object(self, name: str) -> Check:
        fields = self._types[name].get("fields", [])
        kinds = {field["name"]: field["types"] for field in fields}
        required = [field["name"] for field in fields if field["required"]]
        constants = self._constants(name)
        compiled: dict[str, Check] = {}

        def check(value: Any, path: str) -> None:
            if not isinstance(value, dict):
                raise Mismatch(path, f"expected an object {name}")
            for key, constant in constants.items():
                if value.get(key, constant) != constant:
                    raise Mismatch(f"{path}.{key}", f"{name} needs {constant!r}")
            for key, item in value.items():
                if key not in kinds:
                    raise Mismatch(f"{path}.{key}", f"unknown field of {name}")
                if key not in compiled:
                    compiled[key] = self._any_of(kinds[key])
                compiled[key](item, f"{path}.{key}")
            for key in required:
                if key not in value:
                    raise Mismatch(f"{path}.{key}", f"required field of {name} is missing")

        return check

    def _constants(self, name: str) -> dict[str, str]:
        """The fields that tell subtypes apart, which the schema describes only in prose."""
        found: dict[str, str] = {}
        for field in self._types.get(name, {}).get("fields", []):
            if field["name"] in ("type", "source", "status") and field["required"]:
                match = _CONSTANT.search(field["description"])
                if match and match[1] != "one":
                    found[field["name"]] = match[1]
        return found

    def _any_of(self, names: Sequence[str]) -> Check:
        if len(names) == 1:
            return lambda value, path: self.check(names[0])(value, path)
        alternatives = [(name, self._constants(name)) for name in names]

        def check(value: Any, path: str) -> None:
            best: tuple[int, Mismatch] | None = None
            for name, constants in alternatives:
                try:
                    return self.check(name)(value, path)
                except Mismatch as mismatch:
                    score = self._likeness(name, constants, value)
                    if best is None or score > best[0]:
                        best = (score, mismatch)
            assert best is not None
            raise best[1]

        return check

    def _likeness(self, name: str, constants: Mapping[str, str], value: Any) -> int:
        """How likely `value` is a `name`; the error for the likeliest type is reported."""
        if name.startswith(_ARRAY) or name in PRIMITIVES or not isinstance(value, dict):
            return 1 if isinstance(value, list) == name.startswith(_ARRAY) else 0
        same = sum(1000 for key, constant in constants.items() if value.get(key) == constant)
        return same + len(self.field_names(name) & value.keys())


def _primitive(name: str) -> Check:
    kinds = PRIMITIVES[name]

    def check(value: Any, path: str) -> None:
        if not isinstance(value, kinds) or (isinstance(value, bool) and name != "Boolean"):
            raise Mismatch(path, f"expected {name}, got {json.dumps(value, default=str)[:60]}")

    return check


SCHEMA = Schema(json.loads(DATA.read_bytes()))
"""Read once at import, so that no request and no event loop waits for the disk."""

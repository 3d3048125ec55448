"""Parses and checks a method's parameters."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers.telegram.values import Json
from tests.servers.uploads import Upload

Check = Callable[[Any, str], None]
"""A function (value, path) that raises Mismatch when the value is not of its type."""
PRIMITIVES: dict[str, tuple[type, ...]] = {
    "Integer": (int,),
    "Float": (int, float),
    "String": (str,),
    "Boolean": (bool,),
    "InputFile": (str,),
}
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class Mismatch(ValueError):
    """A value that does not match the schema; the text names its path."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method. `decode` takes what arrived and returns the checked value."""

    name: str
    types: tuple[str, ...]
    required: bool
    check: Check

    def decode(self, raw: Any) -> Any:
        """Form values are text: numbers, booleans and JSON are read from it. An empty one counts as absent."""
        if isinstance(raw, Upload):
            if "InputFile" not in self.types:
                raise Mismatch(self.name, "a file where none is expected")
            return raw
        value = self._parsed(raw) if isinstance(raw, str) else raw
        if value is not None:
            self.check(value, self.name)
        return value

    def _parsed(self, text: str) -> Any:
        types = self.types
        if types == ("String",):
            return text
        if text == "":
            return None
        if any(kind not in PRIMITIVES for kind in types):
            try:
                return json.loads(text)
            except ValueError:
                raise Mismatch(self.name, f"can't parse JSON: {text[:80]!r}") from None
        if "Boolean" in types and text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        for kind, convert in (("Integer", int), ("Float", float)):
            if kind in types:
                try:
                    return convert(text)
                except ValueError:
                    continue
        return text


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    parameters: Mapping[str, Parameter]
    required: tuple[str, ...]
    returns: tuple[str, ...]

    def decode(self, raw: Mapping[str, Any]) -> Json:
        """The checked parameters; raises Mismatch at the first wrong one. File parts that a value names as
        attach://… are kept under their own name."""
        attached = {key for key, value in raw.items() if isinstance(value, Upload)} - self.parameters.keys()
        params: Json = {}
        for name, value in raw.items():
            parameter = self.parameters.get(name)
            if parameter is not None:
                decoded = parameter.decode(value)
                if decoded is not None:
                    params[name] = decoded
            elif name not in attached:
                raise Mismatch(name, "unknown parameter")
        for name in self.required:
            if name not in params:
                raise Mismatch(name, "required parameter is missing")
        self._check_attachments(params, raw, attached)
        return params

    def _check_attachments(self, params: Json, raw: Mapping[str, Any], attached: set[str]) -> None:
        named = set(_attachment_names(params))
        if missing := named - attached:
            raise Mismatch(min(missing), "attach:// names a file that was not sent")
        if unused := attached - named:
            raise Mismatch(min(unused), "unknown parameter")
        params.update({name: raw[name] for name in attached})


def _attachment_names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value.removeprefix("attach://")] if value.startswith("attach://") else []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [name for item in value for name in _attachment_names(item)]
    return []

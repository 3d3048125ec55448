"""Normalises JSON Schemas for all models: no references, which confuse models below 8B; no titles; and `items` in every
array, which OpenAI and Gemini require."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from routing.errors import Reason

if TYPE_CHECKING:  # takes 80 ms
    from jsonschema import SchemaError

MAX_SUBSCHEMAS = 5_000
"""Counted after expanding references."""
_QUOTED_CHARACTERS = 120
_ONE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_ONE_EACH = ("anyOf", "oneOf", "allOf", "prefixItems")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas")
_DROPPED = ("title", "$defs", "definitions", "$schema", "$id", "$comment", "discriminator")
_FIRST = ("type", "description")
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_FOREIGN = frozenset({"$dynamicRef", "$recursiveRef"})


class IllegalSchema(ValueError):
    """The fault of a schema, as a clause: a template with values."""

    def __init__(self, template: str, /, **values: object) -> None:
        self.reason = Reason(template, **values)
        super().__init__(str(self.reason))


def plain(schema: Mapping[str, Any], proven: bool = False) -> dict[str, Any]:
    """Expands the references of a schema of type object. A recursive reference becomes any value of its type. A
    nullable property with the default null becomes optional only.

    Raises IllegalSchema if the schema is not valid JSON Schema (2020-12), not of type object, or refers to another
    document. `proven` skips the first check, which imports a slow library."""
    try:
        copy = json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise IllegalSchema("is not JSON ({error})", error=error) from None
    if not isinstance(copy, dict) or copy.get("type") != "object":
        raise IllegalSchema('must be of "type": "object"')
    try:
        if not proven:
            _prove(copy)
        written: dict[str, Any] = _Writer(copy).written(copy)
    except RecursionError:
        raise IllegalSchema("is nested too deeply") from None
    return {"type": "object", "properties": {}} | written


def names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the parameters, in order."""
    return tuple(schema.get("properties", ()))


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The required parameters."""
    return tuple(schema.get("required", ()))


def narrowed(schema: Mapping[str, Any], shown: tuple[str, ...]) -> dict[str, Any]:
    """The schema with only these parameters, in its own order."""
    kept = {name: value for name, value in schema.get("properties", {}).items() if name in shown}
    narrow = {**schema, "properties": kept, "required": [name for name in required(schema) if name in kept]}
    if not narrow["required"]:
        del narrow["required"]
    return narrow


def part(schema: Mapping[str, Any], name: str) -> Any:
    """The schema of a parameter, with references expanded where possible."""
    own = schema["properties"][name]
    try:
        return _Writer(schema).written(own)
    except (IllegalSchema, RecursionError, TypeError, ValueError, AttributeError):  # another JSON Schema dialect
        return own


def referred(root: Mapping[str, Any], reference: str) -> dict[str, Any]:
    """Resolves a reference inside `root`. Raises IllegalSchema."""
    if reference != "#" and not reference.startswith("#/"):
        raise IllegalSchema("refers to {reference}: write it out, or put it into $defs", reference=reference[:100])
    found: Any = root
    for part in reference.split("/")[1:]:
        step = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            at = int(step[:6]) if step.isdecimal() else len(found)
            found = found[at] if at < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return {} if found else {"not": {}}
    if not isinstance(found, dict):
        raise IllegalSchema("refers to {reference}, which is not in it", reference=reference[:100])
    return found


def _prove(schema: Mapping[str, Any]) -> None:
    import jsonschema  # takes 80 ms, so only checks of outside schemas import it

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise IllegalSchema("is not valid JSON Schema: {error}", error=invalid(error)) from None


def invalid(error: SchemaError) -> Reason:
    """What is wrong in a schema, with the place."""
    place = ".".join(str(part) for part in error.absolute_path) or Reason("the schema itself")
    value = json.dumps(error.instance, ensure_ascii=False, default=str)[:_QUOTED_CHARACTERS]
    if error.validator == "type":
        types = error.validator_value
        listed = types if isinstance(types, list) else [types]
        wanted = ", ".join(each if isinstance(each, str) else "schema" for each in listed)  # a schema in draft 3
        return Reason("{place} is {value}, but must be of type {types}", place=place, value=value, types=wanted)
    return Reason("{place} has the illegal value {value}", place=place, value=value)


class _Writer:
    """Expands the references of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MAX_SUBSCHEMAS

    def written(self, schema: Any, inside: tuple[str, ...] = ()) -> Any:
        """Expands a subschema. `inside` are the references that lead to it."""
        self._left -= 1
        if self._left < 0:
            raise IllegalSchema(
                "is too large: more than {limit:,} parts with its references written out", limit=MAX_SUBSCHEMAS
            )
        if not isinstance(schema, dict):
            return {} if schema is True else schema
        for key in schema.keys() & _FOREIGN:
            raise IllegalSchema("uses {key}: write the schema out", key=key)
        if "$ref" in schema:
            return self._referred(schema, inside)
        found = {key: self._value(key, value, inside) for key, value in schema.items() if key not in _DROPPED}
        if "const" in found:
            found["enum"] = [found.pop("const")]
        if "array" in _types(found):
            _fill(found)
        if "properties" in found:
            free = found["properties"].keys() - set(required(found))
            found["properties"] |= {name: _left_out(found["properties"][name]) for name in free}
        return {key: found[key] for key in _FIRST if key in found} | found

    def _value(self, keyword: str, value: Any, inside: tuple[str, ...]) -> Any:
        if keyword in _ONE_EACH:
            return [self.written(each, inside) for each in value]
        if keyword in _BY_NAME:
            return {name: self.written(each, inside) for name, each in value.items()}
        return self.written(value, inside) if keyword in _ONE and isinstance(value, dict) else value

    def _referred(self, schema: dict[str, Any], inside: tuple[str, ...]) -> Any:
        reference = schema["$ref"]
        beside = {key: value for key, value in schema.items() if key != "$ref" and key not in _DROPPED}
        target = referred(self._root, reference)
        if reference in inside:
            return {**({"type": target["type"]} if "type" in target else {}), **beside}
        if (beside.keys() - _ANNOTATIONS) & target.keys():
            return self.written({"allOf": [target, beside]}, (*inside, reference))
        return self.written({**target, **beside}, (*inside, reference))


def _types(schema: Mapping[str, Any]) -> list[str]:
    types = schema.get("type", ())
    return [types] if isinstance(types, str) else list(types)


def _fill(array: dict[str, Any]) -> None:
    """Replaces `prefixItems`, which few providers support, by `items`."""
    first = array.pop("prefixItems", None)
    others = array.get("items", {})
    if first:
        if others is False:
            array["maxItems"] = min(len(first), array.get("maxItems", len(first)))
        kinds = (
            [*first, others] if others is not False and array.get("maxItems", len(first) + 1) > len(first) else first
        )
        distinct = [kind for index, kind in enumerate(kinds) if kind not in kinds[:index]]
        array["items"] = {} if {} in distinct else distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
    else:
        array["items"] = others if isinstance(others, dict) else {}


def _left_out(schema: Any) -> Any:
    """Removes null from a property whose default is null."""
    if not isinstance(schema, dict) or schema.get("default", ...) is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key != "default"}
    types = _types(rest)
    if len(types) > 1 and "null" in types:
        kept = [each for each in types if each != "null"]
        return {**rest, "type": kept[0] if len(kept) == 1 else kept}
    options = rest.pop("anyOf", None)
    if options is None:
        return rest
    filled = [each for each in options if each != {"type": "null"}]
    if len(filled) == len(options) or not filled:
        return schema
    return {**filled[0], **rest} if len(filled) == 1 else {"anyOf": filled, **rest}

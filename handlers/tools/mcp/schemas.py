"""Whether a schema of somebody else's can be given to a model and be checked against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

_REMEMBERED = 4096
_MOST_QUOTED = 120


def schema_fault(schema: Mapping[str, Any], most_chars: int) -> str:
    """Why it can't be used; empty if it can. Takes about a millisecond."""
    try:
        text = json.dumps(schema, sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "its schema is nested too deeply"
    if len(text) > most_chars:
        return f"its schema has {len(text):,} characters, and {most_chars:,} are allowed"
    return _fault(text)


@lru_cache(_REMEMBERED)
def _fault(text: str) -> str:
    schema = json.loads(text)
    if schema.get("type") != "object":
        return "its schema is not one of an object"
    try:
        if any(not reference.startswith("#") for reference in _references(schema)):
            return "its schema refers to another document"  # which nobody should fetch
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        # A trial: a reference that leads nowhere, or to itself, shows only now.
        next(kind(schema, registry=Registry()).iter_errors({}), None)
    except SchemaError as error:
        where = ".".join(str(part) for part in error.absolute_path)
        return f"its schema is not valid ({where or 'root'}: {error.message[:_MOST_QUOTED]})"
    except Unresolvable as error:
        return f"its schema refers to what is not there ({error.ref[:_MOST_QUOTED]})"
    except RecursionError:
        return "its schema refers to itself without end"
    return ""


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)

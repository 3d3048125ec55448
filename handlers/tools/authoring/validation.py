"""Validates against outside JSON Schemas in bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_STEPS = 10_000
"""Maximum steps per check. A step takes 4 µs (measured); a reference counts as three."""
MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, re.error)
"""What reading a document of an unexpected shape raises."""
_A_STEP = 10
"""List or object entries that take as long as one step."""
_REFERENCE = 4
_UNREAD = (
    *("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems"),
    *("not", "if", "contains", "uniqueItems"),
)

Keyword = Callable[[Any, Any, Any, Mapping[str, Any]], Any]


class TooMuch(Exception):
    """The check exceeded its step limit."""


class BoundedValidator:
    """A validator that is safe for outside schemas: it skips regular expressions, whose cost is unbounded, and keywords
    that give wrong results without them. Each check takes at most MAX_STEPS."""

    def __init__(self, library: Any) -> None:
        self._left = 0
        usual = library.Draft202012Validator.VALIDATORS

        def more(validator: Any, allowed: Any, given: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
            """`patternProperties` is not evaluated, so the additional properties are unknown."""
            if "patternProperties" not in schema:
                yield from usual["additionalProperties"](validator, allowed, given, schema) or ()

        others = {**usual, "oneOf": usual["anyOf"], "additionalProperties": more}
        read = {name: self._counted(keyword) for name, keyword in others.items()}
        self._kind = library.validators.extend(library.Draft202012Validator, read | dict.fromkeys(_UNREAD, _accept))

    def begin(self) -> None:
        """Resets the step counter for the next check."""
        self._left = MAX_STEPS

    def validator(self, schema: Mapping[str, Any]) -> Any:
        """A validator that raises TooMuch."""
        return self._kind(_without_ids(schema))

    def _counted(self, keyword: Keyword) -> Keyword:
        def check(validator: Any, value: Any, given: Any, schema: Mapping[str, Any]) -> Any:
            self._left -= 1 + (_size(value) + _size(given)) // _A_STEP
            if self._left < 0:
                raise TooMuch
            return keyword(validator, value, given, schema)

        return check


def _accept(*_: Any) -> tuple[()]:
    return ()


def _size(value: Any) -> int:
    """The cost of a value. A reference is resolved segment by segment."""
    if isinstance(value, str):
        return _A_STEP * (_REFERENCE + value.count("/")) if value.startswith("#") else 0
    return len(value) if isinstance(value, list | dict) else 0


def _without_ids(value: Any) -> Any:
    """Removes `$schema`, which would make the library switch to its own validator, and `$id`, which would change the
    base of references. Properties of these names stay."""
    if isinstance(value, dict):
        return {
            key: _without_ids(each)
            for key, each in value.items()
            if key not in ("$schema", "$id") or isinstance(each, dict)
        }
    return [_without_ids(each) for each in value] if isinstance(value, list) else value

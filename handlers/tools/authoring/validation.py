"""JSON Schema as far as somebody else's can be followed: in bounded time, whatever it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MOST_STEPS = 10_000
"""Of one check: 4 µs each, measured; a reference takes three times as long."""
_A_STEP = 10
"""Things in a list or an object that are looked at in the time of a step."""
_REFERENCE = 4
_UNREAD = (
    *("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems"),
    *("not", "if", "contains", "uniqueItems"),
)

Keyword = Callable[[Any, Any, Any, Mapping[str, Any]], Any]


class TooMuch(Exception):
    """A check that would take too long."""


class Leniency:
    """The validator without regular expressions, which may take longer than the world lasts and hold every thread
    meanwhile, and without what is wrong when they are not looked at. It takes MOST_STEPS from one `begin` to the
    next."""

    def __init__(self, library: Any) -> None:
        self._left = 0
        usual = library.Draft202012Validator.VALIDATORS

        def more(validator: Any, allowed: Any, given: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
            """Which names are further ones, the patterns decide."""
            if "patternProperties" not in schema:
                yield from usual["additionalProperties"](validator, allowed, given, schema) or ()

        others = {**usual, "oneOf": usual["anyOf"], "additionalProperties": more}
        read = {name: self._counted(keyword) for name, keyword in others.items()}
        self._kind = library.validators.extend(library.Draft202012Validator, read | dict.fromkeys(_UNREAD, _anything))

    def begin(self) -> None:
        """The next check."""
        self._left = MOST_STEPS

    def validator(self, schema: Mapping[str, Any]) -> Any:
        """What checks values, and raises TooMuch."""
        return self._kind(_rootless(schema))

    def _counted(self, keyword: Keyword) -> Keyword:
        def check(validator: Any, value: Any, given: Any, schema: Mapping[str, Any]) -> Any:
            self._left -= 1 + (_size(value) + _size(given)) // _A_STEP
            if self._left < 0:
                raise TooMuch
            return keyword(validator, value, given, schema)

        return check


def _anything(*_: Any) -> tuple[()]:
    return ()


def _size(value: Any) -> int:
    """A reference is a text; its way is looked up step by step."""
    if isinstance(value, str):
        return _A_STEP * (_REFERENCE + value.count("/")) if value.startswith("#") else 0
    return len(value) if isinstance(value, list | dict) else 0


def _rootless(value: Any) -> Any:
    """Without the dialect by which the library would take up its own validator again, and without a name by which its
    references would begin elsewhere than at the root."""
    if isinstance(value, dict):
        return {
            key: _rootless(each)
            for key, each in value.items()
            if key not in ("$schema", "$id") or not isinstance(each, str)
        }
    return [_rootless(each) for each in value] if isinstance(value, list) else value

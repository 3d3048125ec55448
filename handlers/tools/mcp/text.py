"""Removes characters from untrusted text that only a model or only a person would see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from routing.errors import Reason
from routing.text import storable

_COVERT = "\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff"
"""Direction overrides, tags, and variation selectors, which can encode whole sentences."""
_JOINED = "\u0590-\u1fff\u2190-\uffef\U00010000-\U000dffff"
"""Scripts and emoji that use the joiners U+200C and U+200D."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
)
_HIDING = re.compile(f"[{_COVERT}]")
_PROSE = ("description", "title", "$comment")
"""Keywords of a schema that hold prose. Other values are compared with arguments and must not change."""
_EXAMPLES = ("default", "examples")


def cleaned(text: str) -> str:
    """The text without invisible characters, except those that join letters and emoji."""
    return _INVISIBLE.sub("", storable(text))


def readable(text: str, max_chars: int) -> str:
    """The cleaned text, cut with an ellipsis."""
    text = cleaned(text).strip()
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def shown(name: str) -> str:
    """A tool's own name, for people."""
    return readable(name, 64) or "a tool without a name"


def cleaned_schema(schema: Any, hidden: Callable[[str], str] = str) -> Any:
    """A schema with cleaned descriptions, whose secrets are `hidden`, and without defaults and examples that contain a
    secret. Other values stay. Raises RecursionError."""
    if isinstance(schema, list):
        return [cleaned_schema(each, hidden) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {}
    for key, value in schema.items():
        if key in _PROSE and isinstance(value, str):
            found[key] = cleaned(hidden(value))
        elif key not in _EXAMPLES or isinstance(value, Mapping) or hidden(str(value)) == str(value):
            found[key] = cleaned_schema(value, hidden)
    return found


def json_fault(value: object) -> Reason | None:
    """Why a value can't be written as JSON in UTF-8, as a clause; None if it can."""
    return _written(value)[1]


def hidden_fault(value: object) -> Reason | None:
    """The same, and whether there is a character in it that hides others."""
    text, fault = _written(value)
    hiding = _HIDING.search(text)
    if fault or hiding is None:
        return fault
    return Reason("hides a character in a name or a value ({code})", code=f"U+{ord(hiding[0]):04X}")


def _written(value: object) -> tuple[str, Reason | None]:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return "", Reason("contains half a character (a lone surrogate)")
    except RecursionError:
        return "", Reason("is nested too deeply")
    except ValueError:
        return "", Reason("has a number that JSON does not know (NaN or Infinity)")
    return text, None

"""Texts of somebody else, as a model or a person may read them: nothing in them that only one of the two sees."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from routing.text import storable

_COVERT = "\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff"
"""Turned writing, tags, and the selectors that can spell whole sentences."""
_JOINED = "\u0590-\u1fff\u2190-\uffef\U00010000-\U000dffff"
"""What a joiner (U+200C, U+200D) may stand between: scripts that need it, and pictures."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff]|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
)
_HIDING = re.compile(f"[{_COVERT}]")
_SAID = ("description", "title", "$comment")
"""In a schema: all else in it is compared with what is given, and must stay as it is."""


def cleaned(text: str) -> str:
    """Without signs that nobody sees, but for those that words and pictures are joined with."""
    return _UNSEEN.sub("", storable(text))


def readable(text: str, longest: int) -> str:
    """The same, at most so long."""
    text = cleaned(text).strip()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shown(name: str) -> str:
    """A name of a server's own, for a person."""
    return readable(name, 64) or "a tool without a name"


def said(schema: Any) -> Any:
    """A schema with its descriptions readable. Raises RecursionError."""
    if isinstance(schema, Mapping):
        return {
            key: cleaned(value) if key in _SAID and isinstance(value, str) else said(value)
            for key, value in schema.items()
        }
    return [said(each) for each in schema] if isinstance(schema, list) else schema


def told_fault(value: object) -> tuple[str, str]:
    """A value as JSON, and why it can't be told to anybody; empty if it can."""
    try:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        return "", "has half a character (a lone surrogate) in it"
    except RecursionError:
        return "", "is nested too deeply"
    except ValueError:
        return "", "has a number that JSON does not know (NaN or Infinity)"
    hidden = _HIDING.search(text)
    return text, f"hides a sign in a name or a value (U+{ord(hidden[0]):04X})" if hidden else ""

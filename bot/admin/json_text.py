"""Changes values in the text of a JSON object and leaves the rest of the text as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from routing.config import jsonfile

_SPACE = re.compile(r"[ \t\n\r]*+")
_INDENT = re.compile(r"\n([ \t]++)\S")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object, with the offsets of its key (`start`), its value and its end in the text."""

    key: str
    start: int
    value: int
    end: int


def updated(text: str, document: Mapping[str, Any]) -> str:
    """The text of a JSON object without duplicate keys, with the values of `document`. Unchanged members keep their
    layout and order; new ones come last."""
    indent = _INDENT.search(text)
    start = _after_space(text, 0)
    end = _decoder.raw_decode(text, start)[1]
    new = _object(text, start, json.loads(text), document, indent[1] if indent else None)
    return text[:start] + new + text[end:]


def _object(text: str, at: int, old: Mapping[str, Any], new: Mapping[str, Any], indent: str | None) -> str:
    """The new text of the object that starts at this offset. Without line breaks it stays on one line."""
    members = [*_members(text, at)]
    if not members:
        return jsonfile.dumped(new, 2)
    opening = text[at + 1 : members[0].start]
    margin = opening.rpartition("\n")[2] if "\n" in opening else ""
    inner = indent if margin else None
    parts, end = list[str](), at + 1
    for each in members:
        if each.key in new:
            before, after = old[each.key], new[each.key]
            if json.dumps(before) == json.dumps(after):
                value = text[each.value : each.end]
            elif before and isinstance(before, dict) and isinstance(after, dict):
                value = _object(text, each.value, before, after, inner)
            else:
                value = _dumped(after, inner, margin)
            separator = text[end : each.start] if parts else opening
            parts.append(separator + text[each.start : each.value] + value)
        end = each.end
    for key in (key for key in new if key not in old):
        separator = f",{opening or ' '}" if parts else opening
        parts.append(f"{separator}{_dumped(key, None, '')}: {_dumped(new[key], inner, margin)}")
    closing = text[end : _decoder.raw_decode(text, at)[1]]
    return "".join(("{", *parts, closing)) if parts else "{}"


def _members(text: str, at: int) -> Iterator[_Member]:
    at = _after_space(text, at + 1)
    while text[at] != "}":
        key, end = _decoder.raw_decode(text, at)
        value = _after_space(text, _after_space(text, end) + 1)
        end = _decoder.raw_decode(text, value)[1]
        yield _Member(key, at, value, end)
        at = _after_space(text, end)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _dumped(value: object, indent: str | None, margin: str) -> str:
    return jsonfile.dumped(value, indent).replace("\n", f"\n{margin}")

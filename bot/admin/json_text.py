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
    """A member of an object: where its key, its value and its end are."""

    key: str
    start: int
    value: int
    end: int


def changed(text: str, document: Mapping[str, Any]) -> str:
    """The valid `text` with the values of `document`. Unchanged members keep their layout and order; new ones come
    last."""
    indent = _INDENT.search(text)
    start = _after_space(text, 0)
    made = text[:start] + _object(text, start, json.loads(text), document, indent[1] if indent else None)
    made += text[_decoder.raw_decode(text, start)[1] :]
    same = json.dumps(json.loads(made), sort_keys=True) == json.dumps(document, sort_keys=True)
    return made if same else jsonfile.render(document)


def _object(text: str, at: int, old: Mapping[str, Any], new: Mapping[str, Any], indent: str | None) -> str:
    """The new text of the object that starts here."""
    members = [*_members(text, at)]
    if not members:
        return _dumped(new, indent, "")
    opening = text[at + 1 : members[0].start]
    margin = opening.rpartition("\n")[2] if "\n" in opening else ""
    inner = indent if margin else None
    parts, end = list[str](), at + 1
    for each in members:
        if each.key in new:
            before, after = old[each.key], new[each.key]
            if json.dumps(before) == json.dumps(after):
                value = text[each.value : each.end]
            elif isinstance(before, dict) and isinstance(after, dict):
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

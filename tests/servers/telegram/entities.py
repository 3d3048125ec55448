"""Errors in message entities. Offsets and lengths count UTF-16 units, as Telegram does."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Entity = Mapping[str, Any]

NESTABLE = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
QUOTES = frozenset({"blockquote", "expandable_blockquote"})
OPAQUE = frozenset({"code", "pre"})
TYPES = (
    NESTABLE
    | QUOTES
    | OPAQUE
    | {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"}
    | {"text_link", "text_mention", "custom_emoji", "date_time"}
)
OWN_FIELD = {
    "url": "text_link",
    "user": "text_mention",
    "language": "pre",
    "custom_emoji_id": "custom_emoji",
    "unix_time": "date_time",
    "date_time_format": "date_time",
}
NEEDED = {
    "text_link": "url",
    "text_mention": "user",
    "custom_emoji": "custom_emoji_id",
    "date_time": "unix_time",
}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)


def utf16_length(text: str) -> int:
    """Length in UTF-16 units; a character outside the basic plane counts two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_entities(text: str, entities: Sequence[Entity]) -> list[str]:
    """Each problem as a sentence; empty if all entities are valid.

    The server itself silently trims spaces at an entity's ends and drops one that covers only spaces: that is
    no problem here. What it refuses, or would show differently from what was asked, is.
    """
    if not entities:
        return []
    end = utf16_length(text)
    inside = _inside_characters(text) if end != len(text) else frozenset()
    problems: list[str] = []
    for entity in entities:
        problems += _place(entity, end, inside)
        problems += _fields(entity)
    return problems or _nesting(entities)


def _inside_characters(text: str) -> frozenset[int]:
    """Offsets between the two halves of a surrogate pair."""
    offsets, position = [], 0
    for character in text:
        if ord(character) > 0xFFFF:
            offsets.append(position + 1)
            position += 1
        position += 1
    return frozenset(offsets)


def _place(entity: Entity, end: int, inside: frozenset[int]) -> list[str]:
    start, length = entity["offset"], entity["length"]
    stop = start + length
    if length <= 0:
        return [f"entity beginning at UTF-16 offset {start} has non-positive length {length}"]
    if start < 0:
        return [f"entity begins at negative UTF-16 offset {start}"]
    if start in inside:
        return [f"entity begins in a middle of a UTF-16 symbol at UTF-16 offset {start}"]
    beginning = f"entity beginning at UTF-16 offset {start}"
    if stop > end:
        return [f"{beginning} ends after the end of the text at UTF-16 offset {stop}"]
    if stop in inside:
        return [f"{beginning} ends in a middle of a UTF-16 symbol at UTF-16 offset {stop}"]
    return []


def _fields(entity: Entity) -> list[str]:
    kind = entity["type"]
    if kind not in TYPES:
        return [f"unknown entity type {kind!r}"]
    problems = [
        f"{field} belongs to {owner} entities, not to {kind}"
        for field, owner in OWN_FIELD.items()
        if owner != kind and entity.get(field) is not None
    ]
    needed = NEEDED.get(kind)
    if needed and entity.get(needed) in (None, ""):
        problems.append(f"{kind} entity needs {needed}")
    elif kind == "text_link" and not _SCHEME.match(entity["url"]):
        problems.append(f"text_link url {entity['url']!r} has no scheme")
    return problems


def _nesting(entities: Sequence[Entity]) -> list[str]:
    """Every invalid overlap of entities, found in one sweep from left to right."""
    problems: list[str] = []
    enclosing: list[Entity] = []
    for entity in sorted(entities, key=_outer_first):
        while enclosing and _stop(enclosing[-1]) <= entity["offset"]:
            enclosing.pop()
        problems += [problem for outer in enclosing if (problem := _meeting(outer, entity))]
        enclosing.append(entity)
    return problems


def _outer_first(entity: Entity) -> tuple[int, int, int]:
    """Of entities with the same span, code counts as the innermost."""
    return entity["offset"], -entity["length"], 1 if entity["type"] in OPAQUE else 0


def _stop(entity: Entity) -> int:
    return int(entity["offset"] + entity["length"])


def _meeting(outer: Entity, inner: Entity) -> str | None:
    where = f"at UTF-16 offset {inner['offset']}"
    if _stop(inner) > _stop(outer):
        return f"{inner['type']} {where} partly overlaps {outer['type']} at {outer['offset']}"
    if outer["type"] in OPAQUE:
        return f"{inner['type']} {where} is inside {outer['type']}"
    if outer["type"] in QUOTES and inner["type"] in QUOTES:
        return f"{inner['type']} {where} is inside {outer['type']}: quotes do not nest"
    return None

"""Telegram's rules for a message with entities, written independently of the code under test."""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit

from bot.rendering.telegram import Entity, Piece

TYPES = {
    "bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "code", "pre", "text_link",
}  # fmt: skip
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u2800\u3164"


def units(text: str) -> list[str]:
    """The text as UTF-16 code units."""
    data = text.encode("utf-16-le")
    return [data[i : i + 2].hex() for i in range(0, len(data), 2)]


def covered(piece: Piece, entity: Entity) -> str:
    data = piece.text.encode("utf-16-le")
    return data[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode("utf-16-le")


def assert_valid(piece: Piece, limit: int) -> None:
    """Raises AssertionError for the first rule that the piece breaks."""
    size = len(units(piece.text))
    assert 0 < size <= limit
    assert piece.text.strip().strip(INVISIBLE), "empty message"
    assert "\r" not in piece.text
    assert "\t" not in piece.text
    assert "\x00" not in piece.text
    assert len(piece.entities) <= 100
    for entity in piece.entities:
        assert entity["type"] in TYPES
        assert entity["length"] > 0
        assert entity["offset"] >= 0
        assert entity["offset"] + entity["length"] <= size
        assert covered(piece, entity).strip(), "an entity of whitespace"  # decoding fails inside a surrogate pair
        assert ("url" in entity) == (entity["type"] == "text_link")
        assert "language" not in entity or (entity["type"] == "pre" and entity["language"].strip())
        if "url" in entity:
            parts = urlsplit(entity["url"])
            assert parts.scheme.lower() in ("http", "https", "tg", "ton")
            assert parts.scheme.lower() in ("tg", "ton") or "." in parts.netloc or "[" in parts.netloc
    for number, first in enumerate(piece.entities):
        for second in piece.entities[number + 1 :]:
            assert_compatible(first, second)


def assert_compatible(one: Entity, other: Entity) -> None:
    """Raises AssertionError unless two entities are disjoint or validly nested."""
    start, end = (
        max(one["offset"], other["offset"]),
        min(one["offset"] + one["length"], other["offset"] + other["length"]),
    )
    if start >= end:
        return
    shared = end - start
    assert shared in (one["length"], other["length"]), f"partial overlap: {one} {other}"
    kinds = {one["type"], other["type"]}
    assert one["type"] != other["type"], f"nested in its own kind: {one} {other}"
    if kinds & {"code", "pre"}:
        assert "blockquote" in kinds, f"nested with code: {one} {other}"
        code = one if one["type"] in ("code", "pre") else other
        assert code["length"] == shared, "a quote inside code"
    if kinds == {"blockquote", "text_link"}:
        link = one if one["type"] == "text_link" else other
        assert link["length"] == shared, "a quote inside a link"


def is_seam(before: str, after: str) -> bool:
    """Whether two texts meet between visible characters (marks, joiners, modifiers, flags)."""
    if not before or not after:
        return True
    first = after[0]
    broken = (
        unicodedata.combining(first) != 0
        or first in "\u200d\ufe0f\ufe0e\u20e3"
        or before[-1] == "\u200d"
        or "\U0001f3fb" <= first <= "\U0001f3ff"
    )
    letters = 0
    for character in reversed(before):
        if not "\U0001f1e6" <= character <= "\U0001f1ff":
            break
        letters += 1
    return not broken and not (letters % 2 and "\U0001f1e6" <= first <= "\U0001f1ff")


def squeezed(text: str) -> str:
    return "".join(text.split())

"""Text that every store, platform and provider takes: no half of a surrogate pair, no NUL."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME_SEAM = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def storable(text: str) -> str:
    """The same text; a surrogate pair becomes its sign, what stands alone the replacement sign, and NUL is dropped
    (PostgreSQL takes none)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "") if "\0" in text else text


@lru_cache(maxsize=8_192)
def spaced(name: str) -> str:
    """An identifier as words: `getBoxOffice`, `get_box_office`."""
    return " ".join(_NAME_SEAM.sub(" ", name).split())


class Pieces:
    """Joins a text that comes in pieces, between which a surrogate pair may be cut."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """What can be shown of it now."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return storable(piece[: len(piece) - len(self._half)])

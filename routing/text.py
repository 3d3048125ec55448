"""Text that every store, platform and provider takes, identifiers as words, and names that were mistyped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from rapidfuzz.distance import OSA

_NAME_SEAM = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

SHORTEST_TYPED, LONGEST_TYPED = 3, 100
"""Characters of a name that is compared with known ones."""


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


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one means, in any case: one that begins with three quarters of it, or one with at
    most one typing error (a letter too many, too few, wrong, or two swapped) for every three letters. None when no
    name is that near."""
    wanted = word.strip().casefold()[:LONGEST_TYPED]
    if len(wanted) < SHORTEST_TYPED:
        return None
    begins, allowed = wanted[: max(SHORTEST_TYPED, len(wanted) * 3 // 4)], max(1, len(wanted) // 3)
    by_distance: dict[int, str] = {}
    for name in known:
        fold = name.casefold()
        distance = OSA.distance(wanted, fold[:LONGEST_TYPED], score_cutoff=allowed)
        by_distance.setdefault(min(distance, allowed) if fold.startswith(begins) else distance, name)
    best = min(by_distance, default=allowed + 1)
    return by_distance[best] if best <= allowed else None


class Pieces:
    """Joins a text that comes in pieces, between which a surrogate pair may be cut."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """What can be shown of it now."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return storable(piece[: len(piece) - len(self._half)])

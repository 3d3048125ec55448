"""Makes text storable, shortens it, splits identifiers into words, and finds mistyped names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from rapidfuzz.distance import OSA

_NAME_SEAM = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

MIN_TYPED, MAX_TYPED = 3, 100
"""Length in characters of the names that are compared."""
MAX_FILE_NAME_BYTES = 120
_MAX_ENDING_BYTES = 16


def storable(text: str) -> str:
    """Make a text storable everywhere: surrogate pairs are joined, lone surrogates replaced, and NUL removed, which
    PostgreSQL rejects."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "") if "\0" in text else text


def shortened(text: str, most: int) -> str:
    """The text in at most `most` characters, with "…" at the end if it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def file_name(name: str) -> str:
    """A safe file name: the last part of a path, without control characters, quotes or leading dots, at most
    MAX_FILE_NAME_BYTES long; a long one is shortened before its extension."""
    last = name.replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    last = "".join(_file_name_sign(sign) for sign in unicodedata.normalize("NFC", storable(last[:1000])))
    last = last.strip().lstrip(".- ").rstrip(". ") or "file"
    stem, dot, ending = last.rpartition(".")
    if not stem or len(ending.encode()) > _MAX_ENDING_BYTES:
        stem, dot, ending = last, "", ""
    room = MAX_FILE_NAME_BYTES - len(f"{dot}{ending}".encode())
    return f"{stem.encode()[:room].decode(errors='ignore')}{dot}{ending}"


def _file_name_sign(sign: str) -> str:
    if sign == '"':
        return "'"
    return "_" if unicodedata.category(sign)[0] == "C" or sign in ":*?<>|\u2028\u2029" else sign


@lru_cache(maxsize=8_192)
def split_identifier(name: str) -> str:
    """Split an identifier into words: `getBoxOffice` → "get Box Office"."""
    return " ".join(_NAME_SEAM.sub(" ", name).split())


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the known name closest to a mistyped one, ignoring case: one that begins with three quarters of it, or one
    with at most one typing error (a letter added, missing, wrong or swapped) per three letters. None if none is
    close."""
    wanted = word.strip().casefold()[:MAX_TYPED]
    if len(wanted) < MIN_TYPED:
        return None
    begins, allowed = wanted[: max(MIN_TYPED, len(wanted) * 3 // 4)], max(1, len(wanted) // 3)
    by_distance: dict[int, str] = {}
    for name in known:
        fold = name.casefold()
        distance = OSA.distance(wanted, fold[:MAX_TYPED], score_cutoff=allowed)
        by_distance.setdefault(min(distance, allowed) if fold.startswith(begins) else distance, name)
    best = min(by_distance, default=allowed + 1)
    return by_distance[best] if best <= allowed else None


class TextPieces:
    """Joins text that arrives in pieces; a surrogate pair may be split between two."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Add a piece; return the part that is complete."""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return storable(piece[: len(piece) - len(self._half)])

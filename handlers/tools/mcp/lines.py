"""A stream of bytes in lines, of which none is kept that is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENDS = 512
"""Bytes of a line that is too long, kept of its beginning and its end: its id is in one of them."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was thrown away; `answers` is the id of the request that it may have answered."""

    answers: int | None


class Lines:
    """Cuts chunks into lines."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._ends: tuple[bytes, bytes] | None = None

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield self._line()
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._ends is not None:
            self._ends = (self._ends[0], (self._ends[1] + piece[-_ENDS:])[-_ENDS:])
            return
        self._parts.append(piece)
        if self._size > self._longest:
            kept = b"".join(self._parts)
            self._ends = (kept[:_ENDS], kept[-_ENDS:])
            self._parts = []

    def _line(self) -> bytes | TooLong:
        line: bytes | TooLong = b"".join(self._parts)
        if self._ends is not None:
            line = TooLong(answered(*self._ends))
        self._parts, self._size, self._ends = [], 0, None
        return line


def answered(begin: bytes, end: bytes = b"") -> int | None:
    """The id of the request that a line answers, found in its beginning or its end."""
    found = _ID.search(begin[:_ENDS]) or _ID.search(end[-_ENDS:])
    return int(found[1]) if found else None

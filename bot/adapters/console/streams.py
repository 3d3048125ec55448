"""Lines from one stream and text to another, blocking, without Python's buffers.

A thread that blocks inside a buffered stream holds its lock, and the interpreter dies of that at its end.
"""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable, Iterator
from typing import TextIO

CHUNK = 65_536
"""Bytes in one read: what a Linux pipe holds."""


def lines(stream: TextIO) -> Iterator[str]:
    """The lines without their ends, as UTF-8 with U+FFFD for what is none; the last needs no end. OSError."""
    read = _reader(stream)
    begun: list[bytes] = []
    while chunk := read():
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield _line([*begun, part])
            begun = []
        begun.append(rest)
    if any(begun):
        yield _line(begun)


def write(stream: TextIO, text: str) -> None:
    """All of the text, at once; what the stream's encoding lacks becomes "?". OSError."""
    number = _number(stream)
    if number is None:
        stream.write(text)
        stream.flush()
        return
    left = memoryview(text.encode(stream.encoding or "utf-8", "replace"))
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            select.select([], [number], [])


def _reader(stream: TextIO) -> Callable[[], bytes]:
    number = _number(stream)
    if number is None:
        return lambda: stream.readline().encode("utf-8", "replace")

    def read() -> bytes:
        while True:
            try:
                return os.read(number, CHUNK)
            except BlockingIOError:
                select.select([number], [], [])

    return read


def _number(stream: TextIO) -> int | None:
    """The file descriptor; None for a stream that lives in memory."""
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None


def _line(parts: list[bytes]) -> str:
    return b"".join(parts).decode("utf-8", "replace").removeprefix("\ufeff").removesuffix("\r")

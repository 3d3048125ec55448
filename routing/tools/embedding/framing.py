"""Messages over a pipe: the lengths of header and body, a JSON header, a binary body."""

from __future__ import annotations

import json
import struct
from asyncio import IncompleteReadError, StreamReader
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

_LENGTHS = struct.Struct("<II")
MAX_HEADER, MAX_BODY = 1 << 24, 1 << 28
"""Bytes. Longer ones mean that this is no message."""


class BrokenFrame(Exception):
    """The bytes are no message."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    header: Mapping[str, Any]
    body: bytes = b""

    def packed(self) -> bytes:
        """The bytes of the message."""
        header = json.dumps(self.header).encode()
        return _LENGTHS.pack(len(header), len(self.body)) + header + self.body


async def receive(reader: StreamReader) -> Frame | None:
    """The next message; None at the end of the stream, also within a message. Raises BrokenFrame."""
    try:
        header, body = _lengths(await reader.readexactly(_LENGTHS.size))
        return _frame(await reader.readexactly(header), await reader.readexactly(body))
    except (IncompleteReadError, ConnectionError):
        return None


def read(stream: BinaryIO) -> Frame | None:
    """Like `receive`, from a blocking stream."""
    start = stream.read(_LENGTHS.size)
    if len(start) < _LENGTHS.size:
        return None
    header, body = _lengths(start)
    rest = stream.read(header + body)
    return _frame(rest[:header], rest[header:]) if len(rest) == header + body else None


def _lengths(start: bytes) -> tuple[int, int]:
    header, body = _LENGTHS.unpack(start)
    if header > MAX_HEADER or body > MAX_BODY:
        raise BrokenFrame(f"a message of {header} + {body} bytes")
    return header, body


def _frame(header: bytes, body: bytes) -> Frame:
    try:
        document = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise BrokenFrame(f"a header that is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BrokenFrame("a header that is no object")
    return Frame(document, body)

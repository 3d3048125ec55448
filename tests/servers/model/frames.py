"""The bytes of one streamed answer, split at boundaries that a client could notice."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

GARBAGE: Final = b'data: {"id":"x","choices":[{"delta":{"content":"br\n\n'
"""An event that is not JSON."""


@dataclass(slots=True)
class Frames:
    """`head` before any content, `parts` one chunk each, `tail` the finish reason, usage and end mark."""

    head: list[bytes] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    tail: list[bytes] = field(default_factory=list)


def dump(value: Any) -> bytes:
    """JSON as providers send it; lone surrogates, which have no UTF-8 form, are escaped."""
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def data(value: Any) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + dump(value) + b"\n\n"


def event(value: dict[str, Any]) -> bytes:
    """A server-sent event named by its own `type`."""
    return f"event: {value['type']}\n".encode() + data(value)

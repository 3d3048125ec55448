"""A scripted answer of the server, and the gate that holds it back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from tests.servers.model.request import ModelRequest

Finish = Literal["stop", "length", "tool_calls", "content_filter"]
Fault = Literal["none", "status", "truncate", "abort", "reset", "hang", "garbage", "break"]
When = Callable[["ModelRequest"], bool]

BEFORE_HEADERS: Final = -1
"""`gate_after` of a gate that holds back even the status line."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counts them; `cached` is a part of `input`, `reasoning` a part of `output`."""

    input: int
    output: int
    cached: int = 0
    reasoning: int = 0


class Estimate:
    """Marks a script whose usage is estimated as a quarter of the characters."""


ESTIMATE: Final = Estimate()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the model. `arguments` is the JSON text as it goes over the wire, legal or not."""

    name: str
    arguments: str
    id: str | None = None

    @property
    def parsed(self) -> dict[str, Any]:
        """The arguments as an object, for wires that carry objects; invalid JSON becomes `{"raw": text}`."""
        try:
            value = json.loads(self.arguments)
        except ValueError:
            return {"raw": self.arguments}
        return value if isinstance(value, dict) else {"raw": self.arguments}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error answer; `retry_after` in seconds, sent as the header of that name."""

    status: int
    message: str
    code: str | None = None
    retry_after: float | None = None
    violations: tuple[str, ...] = ()


class Gate:
    """Holds an answer back until `open()`; `await reached()` waits for the request at the gate."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._reached = asyncio.Event()
        self._request: ModelRequest | None = None

    def open(self) -> None:
        """Releases the waiting answer, and all later ones of the same script."""
        self._open.set()

    async def reached(self, timeout: float = 60.0) -> ModelRequest:
        """The request that waits here (or waited). Raises TimeoutError after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            await self._reached.wait()
        assert self._request is not None
        return self._request

    async def wait(self, request: ModelRequest) -> None:
        """Called by the server: announces the request and waits."""
        self._request = request
        self._reached.set()
        await self._open.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One answer, the `vectors` that were asked for, or `media`: a sound, or a picture. `seconds` is the length of a
    recording. Seconds for the delays; chunks count text, thinking and
    tool-argument deltas together."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    vectors: tuple[tuple[float, ...], ...] | None = None
    media: bytes | None = None
    seconds: float | None = None
    finish: Finish = "stop"
    usage: Usage | Estimate | None = ESTIMATE
    chunks: int = 8
    delay: float = 0.0
    first_delay: float = 0.0
    fault: Fault = "none"
    fault_after: int = 0
    hang_seconds: float = 0.0
    failure: Failure | None = None
    gate: Gate = field(default_factory=Gate)
    gate_after: int | None = None
    when: When | None = None
    times: int | None = 1

    def count(self, request_bytes: int) -> Usage | None:
        """The usage to report for a request of this size in bytes; None if the script reports none."""
        if not isinstance(self.usage, Estimate):
            return self.usage
        written = len(self.text) + len(self.thinking) + sum(len(call.arguments) for call in self.calls)
        return Usage(max(1, request_bytes // 4), max(1, written // 4), 0, len(self.thinking) // 4)


def pieces(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces of nearly equal length, none empty."""
    count = min(max(1, count), len(text))
    edges = [len(text) * i // count for i in range(count + 1)] if count else []
    return [text[a:b] for a, b in pairwise(edges)]

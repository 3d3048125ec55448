"""The common base of the stream readers, and a parser of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx

from routing.llm.streaming.thinking import Thoughts
from routing.llm.streaming.tool_call_accumulator import ToolCallAccumulator
from routing.types.llm import Finish, ToolCall

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "policy"}
_DRAIN_SECONDS = 0.1
"""Seconds to wait for the end of the body after the last event; the connection can be reused only after it."""


class BrokenStream(Exception):
    """The provider reported an error during the stream; `message` is its text."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.message = str(error.get("message") or "") if isinstance(error, dict) else str(error)


class Reader:
    """Iterate over it to get the events. Then `finish` tells how the stream ended, `usage` holds the provider's token
    counts if it sent any, and `calls` the tool calls. A stream that broke off has no calls."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._assembly = ToolCallAccumulator()
        self._thoughts = Thoughts()
        self.finish: Finish = "cut"
        self.usage: Any = None
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def thinking(self) -> str:
        """Thinking to send back with the calls; empty without calls."""
        return self._thoughts.text() if self.calls else ""

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _ended(self, reason: str | None) -> None:
        if reason is None:
            return
        self.finish = _FINISHES.get(reason, "stop")
        self.calls = self._assembly.whole() if self.finish == "stop" else ()
        if self.calls:
            self.finish = "tools"


async def server_sent(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each complete event."""
    rest = b""
    data: list[bytes] = []
    async for piece in body:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif data and not line.strip():
                yield b"\n".join(data)
                data = []


async def drain(events: AsyncIterator[bytes]) -> None:
    """Read the rest of the body after the last event."""
    # The answer is complete; later errors don't matter.
    with suppress(TimeoutError, OSError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass

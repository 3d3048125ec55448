"""What every reader of a model's stream shares: how it ended, what it counted, the events of its body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from routing.llm.thinking import Thoughts
from routing.llm.tool_call_accumulator import Assembly
from routing.types.llm import Finish, ToolCall

_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "policy"}
_DRAIN_SECONDS = 0.1
"""How long to wait for the end of a body whose last event has come; only then its connection serves again."""


class BrokenStream(Exception):
    """The provider reported an error in the middle of its answer; `message` is what it said."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.message = str(error.get("message") or "") if isinstance(error, dict) else str(error)


class Reader:
    """Iterate for the events; then `finish` says how it ended, `usage` holds the provider's count, if it came, and
    `calls` the tools that the model wants to be run. Half a call is none: there are calls only at a proper end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._assembly = Assembly()
        self._thoughts = Thoughts()
        self.finish: Finish = "cut"
        self.usage: Any = None
        self.calls: tuple[ToolCall, ...] = ()

    @property
    def thinking(self) -> str:
        """What has to go back together with the calls; empty without any."""
        return self._thoughts.text() if self.calls else ""

    async def close(self) -> None:
        """Give the connection back, or break it off."""
        await self._stream.aclose()

    def _ended(self, reason: str | None) -> None:
        if reason is None:
            return
        self.finish = _FINISHES.get(reason, "stop")
        self.calls = self._assembly.whole() if self.finish == "stop" else ()
        if self.calls:
            self.finish = "tools"


async def server_sent(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event; one that is cut off is left out."""
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
    """Read what is left of a complete answer, which no fault can harm any more."""
    with suppress(Exception):  # whatever breaks behind a complete answer
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in events:
                pass

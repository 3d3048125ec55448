"""The HTTP transport: the SDK's own, with what it reads bounded and slowed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from handlers.tools.mcp.limits import Limits, Pace
from handlers.tools.mcp.notes import Notes
from handlers.tools.mcp.servers import Endpoint

_SLICE = 4096
"""Events are read one by one; of so many bytes in a few milliseconds."""
_SECONDS = httpx2.Timeout(30.0, read=300.0)
_STREAM = "text/event-stream"
_REFUSALS = (401, 403, 407, 429)
"""Other codes are how a server says that it knows no GET, or nothing of the newest protocol."""


@asynccontextmanager
async def http(endpoint: Endpoint, limits: Limits, notes: Notes) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's pair of streams."""

    async def bounded(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            refused = response.status_code in _REFUSALS or response.status_code >= 500
            notes.refused = f"it answers HTTP {response.status_code}" if refused else ""
        if response.headers.get("content-encoding", "identity") != "identity":  # a bomb would unfold behind the limit
            raise httpx2.DecodingError("compressed, although that was not asked for", request=response.request)
        stream = response.headers.get("content-type", "").lower().startswith(_STREAM)
        response.stream = _Bounded(response.stream, limits, stream)

    headers = {**endpoint.headers, "Accept-Encoding": "identity"}
    made = partial(httpx2.AsyncClient, headers=headers, timeout=_SECONDS, event_hooks={"response": [bounded]})
    async with (
        await asyncio.to_thread(made) as client,  # it reads the machine's certificates
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=limits.message_bytes) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """A body that is read at a pace, and if it is one message, up to its limit."""

    def __init__(self, body: Any, limits: Limits, stream: bool) -> None:
        self._body = body
        self._limits = limits
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pace, size = Pace(self._limits), 0
        async for chunk in self._body:
            size += len(chunk)
            if not self._stream and size > self._limits.message_bytes:
                raise httpx2.StreamError(f"it is larger than {self._limits.message_bytes / 1e6:.0f} MB")
            for at in range(0, len(chunk), _SLICE if self._stream else len(chunk)):
                piece = chunk[at : at + _SLICE] if self._stream else chunk
                await pace.spend(len(piece), piece.count(b"\n") if self._stream else 0)
                yield piece

    async def aclose(self) -> None:
        await self._body.aclose()

"""Filters between a transport and the SDK. Each replaces one stream of the transport."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from typing import Any, Self

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from handlers.tools.mcp.config import Limits
from handlers.tools.mcp.schemas import nested, schema_fault
from handlers.tools.mcp.text import hidden_fault, shown
from routing.errors import Reason

_LIST_CHANGED = "notifications/tools/list_changed"
_NOTIFICATIONS = (_LIST_CHANGED, "notifications/cancelled", "notifications/subscriptions/acknowledged")
_REQUESTS_PER_SECOND = 10
"""Requests that a server may send. Further ones get no answer, so that answers don't pile up."""
_HEADER = "x-mcp-header"
"""A schema with this keyword tells the SDK which arguments to send as HTTP headers."""
_NAME_CHARACTERS = 1_000


class StreamFilter:
    """Wraps a read or write stream of the SDK."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class ReadFilter(StreamFilter, ABC):
    """Passes on only the messages for which `passes` is true."""

    @abstractmethod
    async def passes(self, item: SessionMessage | Exception) -> bool:
        """Whether the SDK gets this message. May change it."""

    def end(self) -> None:
        """Called when the stream ends."""

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self.stream.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self.end()
                raise
            if await self.passes(item):
                return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class ServerMessages(ReadFilter):
    """Filters what a server sends. The SDK would answer every request and reject a whole list because of one invalid
    tool. It gets a stub of each tool instead, and the original tools are kept here."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.wake = asyncio.Event()
        """Set when the session has work; the session clears it."""
        self.changed = False
        """Whether the server reported that its tools have changed."""
        self.over = asyncio.Event()
        self.tools: dict[str, Mapping[str, Any]] = {}
        """The current list, by name."""
        self.left_out: list[Reason] = []
        self._limits = limits
        self._room = limits.tools
        self._second = (0.0, 0)
        """Start of the current second, and the number of requests in it."""

    @asynccontextmanager
    async def filtered(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[tuple[Any, Any]]:
        """The transport with this filter on its read stream."""
        async with transport as (self.stream, writing):
            yield self, writing

    def end(self) -> None:
        self.over.set()
        self.wake.set()

    def begin_list(self) -> None:
        """Start a new list with the next page."""
        self.changed = False
        self._room = self._limits.tools
        self.tools, self.left_out = {}, []

    async def passes(self, item: SessionMessage | Exception) -> bool:
        if not isinstance(item, SessionMessage):
            return False
        match item.message:
            case types.JSONRPCNotification(method=method):
                if method == _LIST_CHANGED:
                    self.changed = True
                    self.wake.set()
                return method in _NOTIFICATIONS
            case types.JSONRPCRequest():
                return self._may_ask(monotonic())
            case types.JSONRPCResponse(result={"tools": list(listed)} as result):
                result["tools"] = await asyncio.to_thread(self._stubs, listed)
        return True

    def _may_ask(self, now: float) -> bool:
        began, requests = self._second
        self._second = (now, 1) if now - began > 1 else (began, requests + 1)
        return self._second[1] <= _REQUESTS_PER_SECOND

    def _stubs(self, listed: list[Any]) -> list[dict[str, Any]]:
        page, more = listed[: self._room], len(listed) > self._room
        self._room -= len(page)
        stubs = []
        for tool in page:
            given = tool.get("name") if isinstance(tool, Mapping) else None
            name = given if isinstance(given, str) else ""
            if fault := self._name_fault(name):
                self.left_out.append(Reason("{tool} is left out: {reason}", tool=shown(name), reason=fault))
            else:
                self.tools[name] = tool
                stubs.append({"name": name, "inputSchema": self._stub_schema(tool.get("inputSchema"))})
        if more:
            self.left_out.append(Reason("only the first {limit:,} of its tools are used", limit=self._limits.tools))
        return stubs

    def _name_fault(self, name: str) -> Reason | None:
        if not name:
            return Reason("it can't be called")
        if name in self.tools:
            return Reason("there is another of this name")
        unshown = len(name) > _NAME_CHARACTERS or hidden_fault(name)
        return Reason("its name can't be shown") if unshown else None

    def _stub_schema(self, schema: Any) -> Mapping[str, Any]:
        has_headers = any(isinstance(each, dict) and _HEADER in each for each in nested(schema))
        if has_headers and isinstance(schema, dict) and not schema_fault(schema, self._limits.schema_chars):
            return schema
        return {"type": "object"}

"""What comes from a server, before the SDK reads it: that refuses a whole list for one bad tool, and answers whatever a
server asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import monotonic
from types import TracebackType
from typing import Any

import anyio
from mcp import types
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from handlers.tools.mcp.hints import HINTS, RAW
from handlers.tools.mcp.limits import Limits
from handlers.tools.mcp.offers import shown

CHANGED = "notifications/tools/list_changed"
_PASSED = (CHANGED, "notifications/cancelled", "notifications/subscriptions/acknowledged")
_MOST_ASKED = 10
"""Requests a second that a server may have answered; the others get no answer."""
_TEXTS = ("name", "title", "description")
_FLAGS = ("readOnlyHint", "destructiveHint")

Item = SessionMessage | Exception


class Inbound:
    """The reading end of a transport, sieved. It is the SDK's `ReadStream`."""

    def __init__(self, limits: Limits) -> None:
        self.woken = asyncio.Event()
        """Something is to be done; whoever waits clears it."""
        self.changed = False
        """The server says that its tools are others now."""
        self.ended = False
        self._limits = limits
        self._stream: Any = None
        self._asked = (0.0, 0)
        self._room = limits.tools
        self._names: set[str] = set()
        self.left_out: list[str] = []

    @asynccontextmanager
    async def through(self, transport: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        """The transport with this in its way."""
        async with transport as (reading, writing):
            self._stream = reading
            yield self, writing

    def transport(self, transport: AbstractAsyncContextManager[Any]) -> Transport:
        """The same as the SDK's type."""
        return self.through(transport)

    def end(self) -> None:
        """Nothing more comes, or nothing that is wanted."""
        self.ended = True
        self.woken.set()

    def begin_list(self) -> None:
        """The next pages are those of a new list."""
        self.changed = False
        self._room = self._limits.tools
        self._names.clear()
        self.left_out = []

    async def receive(self) -> Item:
        while True:
            try:
                item: Item = await self._stream.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
                self.end()
                raise
            if isinstance(item, SessionMessage) and self._wanted(item.message):
                return item

    def __aiter__(self) -> Inbound:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Inbound:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _wanted(self, message: types.JSONRPCMessage) -> bool:
        match message:
            case types.JSONRPCNotification(method=method):
                if method == CHANGED:
                    self.changed = True
                    self.woken.set()
                return method in _PASSED
            case types.JSONRPCRequest():
                return self._may_ask()
            case types.JSONRPCResponse(result={"tools": list(listed)} as result):
                result["tools"] = self._tools(listed)
        return True

    def _may_ask(self) -> bool:
        since, asked = self._asked
        now = monotonic()
        self._asked = (now, 1) if now - since > 1 else (since, asked + 1)
        return self._asked[1] <= _MOST_ASKED

    def _tools(self, listed: list[Any]) -> list[dict[str, Any]]:
        first, more = listed[: self._room], len(listed) > self._room
        self._room -= len(first)
        found = [tool for each in first if (tool := self._tool(each)) is not None]
        if more:
            self.left_out.append(f"only the first {self._limits.tools:,} of its tools are used")
        return found

    def _tool(self, listed: object) -> dict[str, Any] | None:
        """A tool as the protocol has it, with nothing in it that is not read; None for one that is none."""
        name = listed.get("name") if isinstance(listed, Mapping) else None
        if not isinstance(listed, Mapping) or not isinstance(name, str) or not name:
            return self._refuse("a tool without a name", "it can't be called")
        if name in self._names:
            return self._refuse(name, "there is another of this name")
        schema = listed.get("inputSchema")
        if not isinstance(schema, dict) or schema.setdefault("type", "object") != "object" or not _bearable(schema):
            return self._refuse(name, "its schema is not one of an object")
        self._names.add(name)
        hints = _object(listed, "_meta").get(HINTS) or listed.get(RAW)
        flags = _object(listed, "annotations")
        return {
            **{key: listed[key] for key in _TEXTS if isinstance(listed.get(key), str)},
            "inputSchema": schema,
            "annotations": {key: flags[key] for key in _FLAGS if isinstance(flags.get(key), bool)},
            **({"_meta": {HINTS: hints}} if hints is not None else {}),
        }

    def _refuse(self, name: str, reason: str) -> dict[str, Any] | None:
        self.left_out.append(f"{shown(name)} is left out: {reason}")
        return None


def _object(listed: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = listed.get(key)
    return value if isinstance(value, Mapping) else {}


def _bearable(schema: Mapping[str, Any]) -> bool:
    """What the SDK insists on."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, dict)
        and all(isinstance(each, dict | bool) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and isinstance(schema.get("$schema"), str | None)
    )

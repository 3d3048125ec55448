"""What comes from a server, before the SDK reads it: that refuses a whole list for one bad tool, holds every schema of
it several times, and answers whatever a server asks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any

from mcp import types
from mcp.client import Transport
from mcp.shared.message import SessionMessage

from handlers.tools.mcp.hints import HINTS, RAW
from handlers.tools.mcp.limits import Limits, is_deeper
from handlers.tools.mcp.offers import ListedTool
from handlers.tools.mcp.sieve import Item, Sieve
from handlers.tools.mcp.texts import shown, told_fault

CHANGED = "notifications/tools/list_changed"
_PASSED = (CHANGED, "notifications/cancelled", "notifications/subscriptions/acknowledged")
_MOST_ASKED = 10
"""Requests a second that a server may have answered; the others get no answer."""
_HEADER = "x-mcp-header"
"""Beside it in a schema is what the SDK has to know of a tool; of others the name is enough."""
_LONGEST_NAME = 1_000


class Inbound(Sieve):
    """Keeps the tools of a list, and lets the SDK have their names."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.woken = asyncio.Event()
        """Something is to be done; whoever waits clears it."""
        self.changed = False
        """The server says that its tools are others now."""
        self.over = asyncio.Event()
        self._limits = limits
        self._asked = (0.0, 0)
        self._room = limits.tools
        self.listed: dict[str, ListedTool] = {}
        self.left_out: list[str] = []

    def transport(self, transport: AbstractAsyncContextManager[Any]) -> Transport:
        """The same as the SDK's type."""
        return self.through(transport)

    def end(self) -> None:
        self.over.set()
        self.woken.set()

    def begin_list(self) -> None:
        """The next pages are those of a new list."""
        self.changed = False
        self._room = self._limits.tools
        self.listed, self.left_out = {}, []

    async def passes(self, item: Item) -> bool:
        if not isinstance(item, SessionMessage):
            return False
        match item.message:
            case types.JSONRPCNotification(method=method):
                if method == CHANGED:
                    self.changed = True
                    self.woken.set()
                return method in _PASSED
            case types.JSONRPCRequest():
                return self._may_ask()
            case types.JSONRPCResponse(result={"tools": list(listed)} as result):
                result["tools"] = await asyncio.to_thread(self._tools, listed)
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
        """What the SDK gets of a tool; None for one that is none."""
        name = listed.get("name") if isinstance(listed, Mapping) else None
        if not isinstance(listed, Mapping) or not isinstance(name, str) or not name:
            self._refuse("a tool without a name", "it can't be called")
            return None
        schema, hints = listed.get("inputSchema"), _object(listed, "_meta").get(HINTS) or listed.get(RAW)
        if fault := self._fault(name, schema):
            self._refuse(name, fault)
            return None
        if is_deeper(hints):
            self.left_out.append(f"{shown(name)}: its hints are nested too deeply; they are ignored")
            hints = None
        reads = _object(listed, "annotations").get("readOnlyHint") is True
        about = next(
            (text for key in ("description", "title") if (text := listed.get(key)) and isinstance(text, str)), ""
        )
        self.listed[name] = ListedTool(name, about, schema, hints, reads)  # type: ignore[arg-type]
        return {"name": name, "inputSchema": schema if _heads(schema) else {"type": "object"}}

    def _fault(self, name: str, schema: object) -> str:
        if name in self.listed:
            return "there is another of this name"
        if len(name) > _LONGEST_NAME or told_fault(name)[1]:
            return "its name can't be shown"
        if not isinstance(schema, dict) or schema.setdefault("type", "object") != "object":
            return "its schema is not one of an object"
        if is_deeper(schema):
            return "its schema is nested too deeply"
        return "" if _bearable(schema) else "its schema is not one of an object"

    def _refuse(self, name: str, reason: str) -> None:
        self.left_out.append(f"{shown(name)} is left out: {reason}")


def _object(listed: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = listed.get(key)
    return value if isinstance(value, Mapping) else {}


def _bearable(schema: Mapping[str, Any]) -> bool:
    """What the SDK and all who read it later insist on."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, dict)
        and all(isinstance(each, dict | bool) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and isinstance(schema.get("$schema"), str | None)
    )


def _heads(value: Any) -> bool:
    """Whether a header is asked for anywhere in it."""
    if isinstance(value, dict):
        return _HEADER in value or any(map(_heads, value.values()))
    return isinstance(value, list) and any(map(_heads, value))

"""Requests over stdio that the SDK can't read: it drops them, and the client would wait for an answer for ever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from handlers.tools.mcp.sieve import Item, Sieve
from handlers.tools.mcp.texts import told_fault


class Rejects(Sieve):
    """Answers what could not be read, as far as it says whom to."""

    async def passes(self, item: Item) -> bool:
        if isinstance(item, ValidationError) and (request := _request(item)) is not None:
            error = types.ErrorData(code=types.PARSE_ERROR, message=_reason(request, item))
            answer = types.JSONRPCError(jsonrpc="2.0", id=request["id"], error=error)
            await self._writing.send(SessionMessage(answer))
        return True


def _request(fault: ValidationError) -> dict[str, Any] | None:
    """What could not be read; None if it is no request, or has no id that an answer could bear."""
    for each in fault.errors():
        try:
            found = json.loads(each["input"]) if isinstance(each["input"], str) else each["input"]
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("method"), str) and _bearable(found.get("id")):
            return found
    return None


def _bearable(number: object) -> bool:
    if isinstance(number, str):
        return not told_fault(number)[1]
    return isinstance(number, int) and not isinstance(number, bool)


def _reason(request: Mapping[str, Any], fault: ValidationError) -> str:
    said = told_fault(request)[1]
    return f"The request {said}." if said else f"The request can't be read: {fault.errors()[0]['msg']}."

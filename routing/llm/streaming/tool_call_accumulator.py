"""Assembles tool calls from the pieces of a stream."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from routing.types.llm import ToolCall

_ENCODED = "__thought__"
"""LiteLLM appends Gemini's thought signature to the id after this."""


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: str = ""
    signature: str = ""


class ToolCallAccumulator:
    """Handles the variants that providers send: parallel calls; ids and names once, late or in every piece; arguments
    in pieces or as an object; missing or repeated indexes."""

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._at: dict[Any, _PartialCall] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Add one entry of a delta's `tool_calls`, in OpenAI's format."""
        function = piece.get("function") or {}
        given, _, signature = str(piece.get("id") or "").partition(_ENCODED)
        name, arguments = function.get("name") or "", function.get("arguments")
        call = self._of(piece.get("index"), given, name)
        call.id = call.id or given
        call.name = call.name or name
        call.signature = call.signature or signature or _signature(piece)
        if arguments:
            call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)

    def _of(self, index: Any, given: str, name: str) -> _PartialCall:
        """Find the call that a piece belongs to. A new id with a name starts a new call, whatever its index. A piece
        without index and id continues the last call if that is incomplete."""
        key = index if index is not None else given
        call = self._at.get(key) if key != "" else self._unfinished(name)
        if call is None or (given and name and call.id and call.id != given):
            call = self._at[key] = _PartialCall()
            self._calls.append(call)
        return call

    def _unfinished(self, name: str) -> _PartialCall | None:
        last = self._calls[-1] if self._calls else None
        if last is None or not name:
            return last
        return last if name == last.name and not _is_json(last.arguments) else None

    def whole(self) -> tuple[ToolCall, ...]:
        """The calls in order; a missing or repeated id is replaced by a unique one."""
        ids: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.id or call.id in ids:
                call.id = f"call_{uuid.uuid4().hex[:24]}"
            ids.add(call.id)
            calls.append(ToolCall(call.id, call.name, call.arguments, call.signature))
        return tuple(calls)


def _signature(piece: Mapping[str, Any]) -> str:
    """Gemini's signature, as LiteLLM or Gemini's OpenAI-compatible endpoint sends it."""
    google = (piece.get("extra_content") or {}).get("google") or {}
    return str((piece.get("provider_specific_fields") or google).get("thought_signature") or "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

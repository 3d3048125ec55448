"""Anthropic messages, streamed and whole: thinking, text, tool use."""

from __future__ import annotations

from typing import Any, Final

from tests.servers.model.frames import Frames, event
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall, Usage, pieces

SIGNATURE: Final = "c2lnbmF0dXJlLW9mLXRoZS10aGlua2luZw=="
_STOP: Final = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def stop_reason(script: Script) -> str:
    return "tool_use" if script.calls and script.finish == "stop" else _STOP[script.finish]


def usage_of(usage: Usage | None) -> dict[str, Any]:
    """Anthropic's `input_tokens` exclude cached ones; zeros when no usage is reported."""
    usage = usage or Usage(0, 0)
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def _message(script: Script, request: ModelRequest) -> dict[str, Any]:
    return {
        "id": f"msg_{request.number:06d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage_of(script.count(len(request.raw))),
    }


def _call_id(request: ModelRequest, index: int, given: str | None) -> str:
    return given or f"toolu_{request.number:06d}_{index}"


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if script.thinking:
        content.append({"type": "thinking", "thinking": script.thinking, "signature": SIGNATURE})
    if script.text:
        content.append({"type": "text", "text": script.text})
    for index, call in enumerate(script.calls):
        head = {"type": "tool_use", "id": _call_id(request, index, call.id)}
        content.append({**head, "name": call.name, "input": call.parsed})
    return {**_message(script, request), "content": content, "stop_reason": stop_reason(script)}


def stream(script: Script, request: ModelRequest) -> Frames:
    """Blocks in order; a block's start and stop are in the same chunk as the delta next to them."""
    message = _message(script, request)
    started = {**message, "usage": {**message["usage"], "output_tokens": 1}}
    frames = Frames(head=[event({"type": "message_start", "message": started}) + event({"type": "ping"})])
    index = 0
    if script.thinking:
        deltas = [{"type": "thinking_delta", "thinking": part} for part in pieces(script.thinking, script.chunks)]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        frames.parts += _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
        index += 1
    if script.text:
        deltas = [{"type": "text_delta", "text": part} for part in pieces(script.text, script.chunks)]
        frames.parts += _block(index, {"type": "text", "text": ""}, deltas)
        index += 1
    for number, call in enumerate(script.calls):
        opening = {"type": "tool_use", "id": _call_id(request, number, call.id), "name": call.name, "input": {}}
        frames.parts += _block(index, opening, _arguments(call, script))
        index += 1
    delta = {"stop_reason": stop_reason(script), "stop_sequence": None}
    frames.tail.append(event({"type": "message_delta", "delta": delta, "usage": message["usage"]}))
    frames.tail.append(event({"type": "message_stop"}))
    return frames


def _arguments(call: ToolCall, script: Script) -> list[dict[str, Any]]:
    parts = pieces(call.arguments, max(2, script.chunks // 2))
    return [{"type": "input_json_delta", "partial_json": part} for part in parts]


def _block(index: int, opening: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
    start = event({"type": "content_block_start", "index": index, "content_block": opening})
    frames = [event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
    frames[0] = start + frames[0]
    frames[-1] += event({"type": "content_block_stop", "index": index})
    return frames

"""OpenAI responses, streamed and whole: reasoning summaries, text and function calls."""

from __future__ import annotations

from typing import Any, Final

from tests.servers.model.frames import Frames, event
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, ToolCall, pieces
from tests.servers.model.wire_chat import call_id

ENCRYPTED: Final = "ZW5jcnlwdGVkLXJlYXNvbmluZw=="

Event = dict[str, Any]
Item = dict[str, Any]


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    return _response(script, request, _output(script, request), done=True)


def stream(script: Script, request: ModelRequest) -> Frames:
    """Events in OpenAI's order, each with its `sequence_number`."""
    started = _response(script, request, [], done=False)
    head: list[Event] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
    ]
    parts: list[Event] = []
    output = _output(script, request)
    for index, item in enumerate(output):
        parts += _item_events(item, index, script)
    final = _response(script, request, output, done=True)
    tail: list[Event] = [{"type": f"response.{final['status']}", "response": final}]
    for number, each in enumerate(head + parts + tail):
        each["sequence_number"] = number
    return Frames(_join(head), _join(parts), _join(tail))


def _join(events: list[Event]) -> list[bytes]:
    """One frame per delta; events around it (added, done) are in the frame of the next delta."""
    frames, pending = [], b""
    for each in events:
        pending += event(each)
        if each["type"].endswith(".delta"):
            frames.append(pending)
            pending = b""
    return [*frames, pending] if pending else frames


def _output(script: Script, request: ModelRequest) -> list[Item]:
    items: list[Item] = []
    if script.thinking:
        summary = [{"type": "summary_text", "text": script.thinking}]
        items.append({"id": f"rs_{request.number:06d}", "type": "reasoning", "summary": summary})
        if "reasoning.encrypted_content" in (request.body.get("include") or ()):
            items[0]["encrypted_content"] = ENCRYPTED
    if script.text or not (script.calls or script.thinking):
        text = {"type": "output_text", "text": script.text, "annotations": [], "logprobs": []}
        head = {"id": f"msg_{request.number:06d}", "type": "message", "role": "assistant"}
        items.append({**head, "status": "completed", "content": [text]})
    return items + [_call(call, request, index) for index, call in enumerate(script.calls)]


def _call(call: ToolCall, request: ModelRequest, index: int) -> Item:
    return {
        "id": f"fc_{request.number:06d}_{index}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id(request, index, call.id),
        "name": call.name,
        "arguments": call.arguments,
    }


def _item_events(item: Item, index: int, script: Script) -> list[Event]:
    at = {"output_index": index, "item_id": item["id"]}
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "function_call":
        inner = [
            {"type": "response.function_call_arguments.delta", **at, "delta": part}
            for part in pieces(item["arguments"], max(2, script.chunks // 2))
        ]
        end = {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]}
        opened = {**item, "arguments": "", "status": "in_progress"}
        return [{**added, "item": opened}, *inner, end, done]
    if item["type"] == "reasoning":
        return [{**added, "item": {**item, "summary": []}}, *_summary_events(item, at, script), done]
    opened = {**item, "content": [], "status": "in_progress"}
    return [{**added, "item": opened}, *_text_events(item, at, script), done]


def _text_events(item: Item, at: Event, script: Script) -> list[Event]:
    part, where = item["content"][0], {**at, "content_index": 0}
    deltas = [
        {"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []}
        for piece in pieces(part["text"], script.chunks)
    ]
    return [
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.output_text.done", **where, "text": part["text"], "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
    ]


def _summary_events(item: Item, at: Event, script: Script) -> list[Event]:
    part, where = item["summary"][0], {**at, "summary_index": 0}
    deltas = [
        {"type": "response.reasoning_summary_text.delta", **where, "delta": piece}
        for piece in pieces(part["text"], script.chunks)
    ]
    return [
        {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}},
        *deltas,
        {"type": "response.reasoning_summary_text.done", **where, "text": part["text"]},
        {"type": "response.reasoning_summary_part.done", **where, "part": part},
    ]


def _response(script: Script, request: ModelRequest, output: list[Item], *, done: bool) -> dict[str, Any]:
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(script.finish)
    status = ("incomplete" if cut else "completed") if done else "in_progress"
    usage = script.count(len(request.raw)) if done else None
    return {
        "id": f"resp_{request.number:06d}",
        "object": "response",
        "created_at": int(request.time),
        "status": status,
        "error": None,
        "incomplete_details": {"reason": cut} if done and cut else None,
        "instructions": request.body.get("instructions"),
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": request.body.get("temperature", 1.0),
        "tool_choice": request.body.get("tool_choice", "auto"),
        "tools": request.body.get("tools") or [],
        "top_p": 1.0,
        "reasoning": {"effort": request.reading.effort, "summary": None},
        "usage": usage
        and {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        },
    }

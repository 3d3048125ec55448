"""OpenAI chat completions, streamed and whole."""

from __future__ import annotations

from typing import Any

from tests.servers.model.frames import Frames, data
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, Usage, pieces


def call_id(request: ModelRequest, index: int, given: str | None) -> str:
    """The script's id, else one that names the request and the call."""
    return given or f"call_{request.number:06d}_{index}"


def finish_of(script: Script) -> str:
    return "tool_calls" if script.calls and script.finish == "stop" else script.finish


def usage_of(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    }


def stream(script: Script, request: ModelRequest) -> Frames:
    """Chunks as OpenAI sends them; usage in a last chunk without choices, only when asked for."""
    base = {
        "id": f"chatcmpl-{request.number:06d}",
        "object": "chat.completion.chunk",
        "created": int(request.time),
        "model": request.model,
    }

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    frames = Frames(head=[chunk({"role": "assistant", "content": ""})])
    if script.thinking:
        frames.parts += [chunk({"reasoning_content": part}) for part in pieces(script.thinking, script.chunks)]
    frames.parts += [chunk({"content": part}) for part in pieces(script.text, script.chunks)]
    for index, call in enumerate(script.calls):
        function = {"name": call.name, "arguments": ""}
        opening = {"index": index, "id": call_id(request, index, call.id), "type": "function"}
        frames.parts.append(chunk({"tool_calls": [{**opening, "function": function}]}))
        for part in pieces(call.arguments, max(2, script.chunks // 2)):
            frames.parts.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
    frames.tail.append(chunk({}, finish_of(script)))
    usage = script.count(len(request.raw))
    if usage and (request.body.get("stream_options") or {}).get("include_usage"):
        frames.tail.append(data({**base, "choices": [], "usage": usage_of(usage)}))
    frames.tail.append(b"data: [DONE]\n\n")
    return frames


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": script.text or None, "refusal": None}
    if script.finish == "stop" and not script.calls:
        message["content"] = script.text
    if script.thinking:
        message["reasoning_content"] = script.thinking
    if script.calls:
        message["tool_calls"] = [
            {
                "id": call_id(request, index, call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for index, call in enumerate(script.calls)
        ]
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{request.number:06d}",
        "object": "chat.completion",
        "created": int(request.time),
        "model": request.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(script)}],
    }
    if usage := script.count(len(request.raw)):
        answer["usage"] = usage_of(usage)
    return answer

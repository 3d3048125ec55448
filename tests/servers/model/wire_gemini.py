"""Gemini generateContent and streamGenerateContent (server-sent events)."""

from __future__ import annotations

from typing import Any, Final

from tests.servers.model.frames import Frames, data
from tests.servers.model.request import ModelRequest
from tests.servers.model.script import Script, Usage, pieces

SIGNATURE: Final = "dGhvdWdodC1zaWduYXR1cmU="
_FINISH: Final = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Gemini counts thoughts separately from the candidates' tokens."""
    return {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }


def _calls(script: Script) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [{"functionCall": {"name": call.name, "args": call.parsed}} for call in script.calls]
    if calls:
        calls[0]["thoughtSignature"] = SIGNATURE
    return calls


def _answer(script: Script, request: ModelRequest, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if not parts:
        candidate["content"] = {"role": "model"}
    if last:
        candidate["finishReason"] = _FINISH[script.finish]
    answer: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": request.model,
        "responseId": f"gem_{request.number:06d}",
    }
    if usage := script.count(len(request.raw)):
        so_far = usage if last else Usage(usage.input, 0, usage.cached)
        answer["usageMetadata"] = usage_of(so_far)
    return answer


def whole(script: Script, request: ModelRequest) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if script.thinking:
        parts.append({"text": script.thinking, "thought": True})
    if script.text:
        parts.append({"text": script.text})
    return _answer(script, request, parts + _calls(script), last=True)


def stream(script: Script, request: ModelRequest) -> Frames:
    """The last event carries the finish reason and no content; every event carries the usage so far."""
    parts: list[dict[str, Any]] = []
    if script.thinking:
        parts += [{"text": part, "thought": True} for part in pieces(script.thinking, script.chunks)]
    parts += [{"text": part} for part in pieces(script.text, script.chunks)]
    chunks = [[part] for part in parts]
    if calls := _calls(script):
        chunks.append(calls)
    frames = [data(_answer(script, request, chunk, last=False)) for chunk in chunks]
    return Frames([], frames, [data(_answer(script, request, [{"text": ""}], last=True))])

"""Builds the arguments of LiteLLM's `acompletion` for each wire format."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from routing.bounded import Bounded
from routing.llm.streaming import thinking
from routing.llm.streaming.thinking import Wire
from routing.types.llm import ChatMessage, ModelRequest, ToolCall, ToolSpec

_MARKER = {"type": "ephemeral"}
"""Marks a prompt cache breakpoint. Anthropic caches up to it for five minutes and allows four per request."""
_THROUGH_OPENROUTER = "openrouter/anthropic/"
_BUDGETS = {"minimal": 1_024, "low": 1_024, "medium": 2_048, "high": 4_096, "xhigh": 8_192, "max": 16_384}
"""The fixed thinking budgets of Claudes in tokens, as LiteLLM sets them. The output limit must be larger."""
_schemas: Bounded[int, tuple[Mapping[str, Any], dict[str, Any]]] = Bounded(1_000)
"""The parameters of tools, by their id, with their complete schema."""


@dataclass(frozen=True, slots=True)
class Target:
    """What determines the shape of a request. `adaptive`: this Claude decides how much to think and needs no thinking
    in its history. `most_output` is the model's output limit in tokens, if known. `keeps_schemas`: LiteLLM does not
    change the schemas of tools in place, as it does for Gemini."""

    wire: Wire
    adaptive: bool = False
    most_output: int | None = None
    keeps_schemas: bool = False


def parameters(request: ModelRequest, target: Target) -> dict[str, Any]:
    """`request` must have passed `message_codec.adapt`."""
    claude = target.wire == "anthropic" or request.model.startswith(_THROUGH_OPENROUTER)
    if claude:
        request = _thoughtful(request, target)
    wired = [_message(message, target.wire) for message in request.messages]
    if claude:
        _mark(request.messages, wired)
    given: dict[str, Any] = {
        "messages": wired,
        "stream": True,
        "stream_options": {"include_usage": True},
        "num_retries": 0,
        "max_retries": 0,
        "timeout": request.profile.timeout_seconds,
        "drop_params": True,
    }
    if request.temperature is not None and not (claude and request.reasoning):
        given["temperature"] = request.temperature
    if (most := _most_output(request, target)) is not None:
        given["max_tokens"] = most
    return given | _reasoning(request, target) | _tools(request, target)


def _most_output(request: ModelRequest, target: Target) -> int | None:
    """The requested output limit, capped by the model's. Claude needs one when it thinks: LiteLLM would set 4096 tokens
    for the answer after the thinking."""
    if request.max_output is None:
        return target.most_output if target.wire == "anthropic" and request.reasoning else None
    return request.max_output if target.most_output is None else min(request.max_output, target.most_output)


def _thoughtful(request: ModelRequest, target: Target) -> ModelRequest:
    """Apply Claude's rules: thinking is sent back only within its turn and only while thinking is on. With a fixed
    thinking budget, a turn that another model began without thinking continues without it, and so does one without
    room for thinking."""
    messages = request.messages
    if request.reasoning and not target.adaptive:
        most = _most_output(request, target)
        too_small = most is not None and most <= _BUDGETS.get(request.reasoning, 0)
        if too_small or not thinking.may_continue_thinking(messages):
            request = replace(request, reasoning=None)
    kept = thinking.drop_earlier_turns(messages) if request.reasoning else thinking.without(messages)
    return replace(request, messages=kept)


def _reasoning(request: ModelRequest, target: Target) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if target.wire == "responses":
        given["store"] = False
    if request.reasoning is None:
        return given
    given["reasoning_effort"] = request.reasoning
    if target.wire == "responses":
        given["include"] = ["reasoning.encrypted_content"]
    elif request.profile.base_url and request.profile.api_type == "openai":
        given["allowed_openai_params"] = ["reasoning_effort"]  # for models missing in LiteLLM's map
    return given


def _tools(request: ModelRequest, target: Target) -> dict[str, Any]:
    if not request.tools:
        return {}
    tools = [_tool(spec) for spec in request.tools]
    given: dict[str, Any] = {"tools": tools if target.keeps_schemas else deepcopy(tools)}
    given["_skip_mcp_handler"] = True  # it would import mcp, which is as large as litellm
    if not request.may_call:
        given["tool_choice"] = "none"
    return given


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": _schema(spec.parameters)},
    }


def _schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same object for the same parameters, so that LiteLLM's cleaning can be remembered (`routing.llm.patches`)."""
    known = _schemas.get(id(parameters))
    if known is None:
        known = _schemas[id(parameters)] = parameters, {"type": "object", "properties": {}, **parameters}
    return known[1]


def _message(message: ChatMessage, wire: Wire) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role == "assistant":
        return _answer(message, wire)
    if not message.pictures:
        return {"role": message.role, "content": message.text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    for picture in message.pictures:
        data = base64.b64encode(picture.data).decode("ascii")
        parts.append({"type": "image_url", "image_url": {"url": f"data:{picture.mime};base64,{data}"}})
    return {"role": message.role, "content": parts}


def _answer(message: ChatMessage, wire: Wire) -> dict[str, Any]:
    wired: dict[str, Any] = {"role": "assistant", "content": message.text}
    if message.thinking:
        wired |= thinking.wire_fields(message.thinking, wire)
    if message.calls:
        wired["content"] = message.text if message.text.strip() else None
        wired["tool_calls"] = [_call(call, wire) for call in message.calls]
    return wired


def _call(call: ToolCall, wire: Wire) -> dict[str, Any]:
    wired: dict[str, Any] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
    if call.signature and wire == "gemini":
        wired["provider_specific_fields"] = {"thought_signature": call.signature}
    elif call.signature and wire == "chat":  # Gemini through an OpenAI-compatible endpoint
        wired["extra_content"] = {"google": {"thought_signature": call.signature}}
    return wired


def _mark(messages: Sequence[ChatMessage], wired: Sequence[dict[str, Any]]) -> None:
    """Set Anthropic's cache breakpoints: after the tools and instructions, after the question, and after the turn so
    far. Anthropic searches only the 20 blocks before a breakpoint, hence the one at the question."""
    leading = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    places = {thinking.turn_begin(messages) - 1, len(messages) - 1, 0 if leading else -1, leading - 1}
    for at in places - {-1}:
        if not (messages[at].text.strip() or messages[at].pictures):
            continue
        holder = wired[at]["content"][-1] if isinstance(wired[at]["content"], list) else wired[at]
        holder["cache_control"] = _MARKER

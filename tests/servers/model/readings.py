"""The content of a request body in terms common to the four wire formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool result for the model; `id` is the call's id, or the function's name for Gemini."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The request's content. `turns` are (role, text) in order, roles system, user, assistant, tool."""

    turns: tuple[tuple[str, str], ...] = ()
    tool_names: tuple[str, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    effort: str | None = None
    thinking_budget: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    @property
    def system_text(self) -> str:
        return "\n".join(text for role, text in self.turns if role == "system")

    @property
    def last_user_text(self) -> str:
        return next((text for role, text in reversed(self.turns) if role == "user" and text), "")


def read(endpoint: str, body: dict[str, Any]) -> Reading:
    """The content of a legal body. May raise for an illegal one, so validate first."""
    readers = {"chat": _chat, "responses": _responses, "messages": _messages, "generate": _generate}
    return readers[endpoint](body) if endpoint in readers else Reading()


def text_of(content: Any) -> str:
    """The text in a message's content, be it a string, parts or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return ""


def _chat(body: dict[str, Any]) -> Reading:
    turns, results = [], []
    for message in body["messages"]:
        role = "system" if message["role"] == "developer" else message["role"]
        turns.append((role, text_of(message.get("content"))))
        if role == "tool":
            results.append(ToolResult(message.get("tool_call_id", ""), turns[-1][1]))
    return Reading(
        tuple(turns),
        tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
        tuple(results),
        body.get("reasoning_effort"),
        None,
        body.get("temperature"),
        body.get("max_completion_tokens") or body.get("max_tokens"),
    )


def _responses(body: dict[str, Any]) -> Reading:
    turns = [("system", body["instructions"])] if body.get("instructions") else []
    results = []
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") == "function_call_output":
            results.append(ToolResult(item.get("call_id", ""), text_of(item.get("output"))))
            turns.append(("tool", results[-1].text))
        elif "role" in item:
            role = "system" if item["role"] == "developer" else item["role"]
            turns.append((role, text_of(item.get("content"))))
    return Reading(
        tuple(turns),
        tuple(tool["name"] for tool in body.get("tools") or () if "name" in tool),
        tuple(results),
        (body.get("reasoning") or {}).get("effort"),
        None,
        body.get("temperature"),
        body.get("max_output_tokens"),
    )


def _messages(body: dict[str, Any]) -> Reading:
    turns = [("system", text_of(body["system"]))] if body.get("system") else []
    results = []
    for message in body["messages"]:
        for block in _blocks(message["content"], "tool_result"):
            results.append(ToolResult(block.get("tool_use_id", ""), text_of(block.get("content"))))
            turns.append(("tool", results[-1].text))
        if text := text_of(message["content"]):
            turns.append((message["role"], text))
    return Reading(
        tuple(turns),
        tuple(tool["name"] for tool in body.get("tools") or ()),
        tuple(results),
        (body.get("output_config") or {}).get("effort"),
        (body.get("thinking") or {}).get("budget_tokens"),
        body.get("temperature"),
        body.get("max_tokens"),
    )


def _blocks(content: Any, kind: str) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        yield from (block for block in content if block.get("type") == kind)


def _generate(body: dict[str, Any]) -> Reading:
    system = either(body, "systemInstruction", "system_instruction") or {}
    turns = [("system", text_of(system.get("parts")))] if system else []
    results = []
    for content in body["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if result := either(part, "functionResponse", "function_response"):
                results.append(ToolResult(result.get("name", ""), str(result.get("response"))))
                turns.append(("tool", results[-1].text))
        if text := text_of(content["parts"]):
            turns.append((role, text))
    config = either(body, "generationConfig", "generation_config") or {}
    thinking = config.get("thinkingConfig") or {}
    names = tuple(
        declaration["name"]
        for tool in body.get("tools") or ()
        for declaration in either(tool, "functionDeclarations", "function_declarations") or ()
    )
    return Reading(
        tuple(turns),
        names,
        tuple(results),
        thinking.get("thinkingLevel"),
        thinking.get("thinkingBudget"),
        config.get("temperature"),
        either(config, "maxOutputTokens", "max_output_tokens"),
    )


def either(body: dict[str, Any], camel: str, snake: str) -> Any:
    """Gemini takes both spellings of every field."""
    return body.get(camel, body.get(snake))

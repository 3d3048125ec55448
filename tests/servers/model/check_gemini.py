"""What Gemini's generateContent refuses."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.readings import either
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_PARTS: Final = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
)
_SNAKE: Final = {
    "inline_data": "inlineData",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
}
_SIGNED: Final = re.compile(r"gemini-([3-9]|\d\d)")
"""Models that refuse a call of the turn in progress without its signature."""
_LEVELS: Final = ("minimal", "low", "medium", "high")


def check_generate(request: ModelRequest, report: Report) -> None:
    body = request.body
    _check_config(either(body, "generationConfig", "generation_config") or {}, report)
    declared = [
        (each.get("name"), each.get("parameters"))
        for tool in body.get("tools") or ()
        for each in either(tool, "functionDeclarations", "function_declarations") or ()
    ]
    rules.check_tools(report, "tools.functionDeclarations", declared)
    contents = body.get("contents")
    if not report.need(isinstance(contents, list) and contents, "contents", "empty or not a list"):
        return
    calls: list[str] = []
    for index, content in enumerate(contents or ()):
        place = f"contents[{index}]"
        role = content.get("role", "user")
        report.need(role in ("user", "model", "function"), f"{place}.role", f"{role!r} is neither user nor model")
        parts = content.get("parts")
        if not report.need(isinstance(parts, list) and parts, f"{place}.parts", "empty or not a list"):
            continue
        kinds = [_check_part(part, f"{place}.parts[{number}]", report) for number, part in enumerate(parts)]
        _check_answers(parts, kinds, calls, place, report)
        calls = [either(p, "functionCall", "function_call")["name"] for p in _of(parts, kinds, "functionCall")]
        report.need(not calls or role == "model", place, "a functionCall outside a model's content")
        after = (contents or ())[index - 1].get("role", "user") if index else None
        report.need(not calls or after in ("user", "function"), place, "a functionCall turn not after a user turn")
    if _SIGNED.match(request.model):
        _check_signatures(contents or [], report)
    report.need(not calls, "contents", f"end with a functionCall that has no response: {', '.join(calls)}")


def _check_config(config: dict[str, Any], report: Report) -> None:
    rules.check_range(report, "generationConfig.temperature", config.get("temperature"), 2)
    limit = either(config, "maxOutputTokens", "max_output_tokens")
    rules.check_positive(report, "generationConfig.maxOutputTokens", limit)
    thinking = either(config, "thinkingConfig", "thinking_config") or {}
    level = either(thinking, "thinkingLevel", "thinking_level")
    known = level is None or str(level).lower() in _LEVELS
    report.need(known, "generationConfig.thinkingConfig.thinkingLevel", f"{level!r} unknown")
    budget = either(thinking, "thinkingBudget", "thinking_budget")
    rules.check_positive(report, "generationConfig.thinkingConfig.thinkingBudget", budget, -1)
    report.need(level is None or budget is None, "generationConfig.thinkingConfig", "level beside budget")


def _check_part(part: dict[str, Any], place: str, report: Report) -> str:
    kinds = [_SNAKE.get(key, key) for key in part if _SNAKE.get(key, key) in _PARTS]
    if not report.need(len(kinds) == 1, place, f"has {len(kinds)} of {', '.join(_PARTS)}, not one"):
        return kinds[0] if kinds else ""
    if kinds[0] == "functionCall":
        call = either(part, "functionCall", "function_call")
        rules.check_tool_name(report, f"{place}.functionCall.name", call.get("name"))
        report.need(isinstance(call.get("args", {}), dict), f"{place}.functionCall.args", "not an object")
    if kinds[0] == "functionResponse":
        result = either(part, "functionResponse", "function_response")
        rules.check_tool_name(report, f"{place}.functionResponse.name", result.get("name"))
        is_object = isinstance(result.get("response"), dict)
        report.need(is_object, f"{place}.functionResponse.response", "not an object")
    return kinds[0]


def _check_signatures(contents: list[dict[str, Any]], report: Report) -> None:
    """In the turn in progress, after the user's last text, the first call of each content must be signed."""
    asked = [
        index
        for index, content in enumerate(contents)
        if content.get("role") == "user" and any("text" in part for part in content["parts"])
    ]
    for index in range(asked[-1] if asked else 0, len(contents)):
        calls = [part for part in contents[index]["parts"] if either(part, "functionCall", "function_call")]
        signed = not calls or either(calls[0], "thoughtSignature", "thought_signature")
        report.need(signed, f"contents[{index}]", "a functionCall without its thoughtSignature")


def _of(parts: list[dict[str, Any]], kinds: list[str], wanted: str) -> list[dict[str, Any]]:
    return [part for part, kind in zip(parts, kinds, strict=True) if kind == wanted]


def _check_answers(parts: list[dict[str, Any]], kinds: list[str], calls: list[str], place: str, report: Report) -> None:
    """One response for each call in the previous content, for the same functions."""
    results = _of(parts, kinds, "functionResponse")
    names = [either(part, "functionResponse", "function_response").get("name") for part in results]
    if len(names) != len(calls):
        report.add(place, f"{len(names)} function responses for {len(calls)} function calls just before")
    elif sorted(names) != sorted(calls):
        report.add(place, f"function responses for {names}, but the calls were {calls}")

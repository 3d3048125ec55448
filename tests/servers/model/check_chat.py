"""What OpenAI's chat completions refuses."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_CONTENT: Final = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_MAX_ID_CHARACTERS: Final = 40
_FOREIGN: Final = ("thinking_blocks", "provider_specific_fields", "reasoning_items", "signature", "cache_control")
"""Fields of other wire formats, or of a library only."""


def check_chat(request: ModelRequest, report: Report) -> None:
    body = request.body
    report.need(isinstance(body.get("model"), str) and body["model"], "model", "missing")
    _check_settings(body, report)
    check_tool_field(body, report)
    messages = body.get("messages")
    if not report.need(isinstance(messages, list) and messages, "messages", "empty or not a list"):
        return
    waiting: dict[str, None] = {}
    for index, message in enumerate(messages or ()):
        place = f"messages[{index}]"
        role = message.get("role")
        if not report.need(role in _CONTENT, f"{place}.role", f"{role!r} is not one of {', '.join(_CONTENT)}"):
            continue
        if role == "tool":
            _check_result(report, place, message, waiting)
        elif waiting:
            report.add(place, f"tool calls without a result before it: {', '.join(waiting)}")
            waiting.clear()
        for foreign in _FOREIGN:
            report.need(foreign not in message, f"{place}.{foreign}", "unknown field")
        _check_content(report, place, role, message)
        if role == "assistant":
            _check_calls(report, place, message, waiting)
    if waiting:
        report.add("messages", f"end with tool calls that have no result: {', '.join(waiting)}")


def _check_settings(body: dict[str, Any], report: Report) -> None:
    model = str(body.get("model"))
    rules.check_temperature(report, model, body.get("temperature"), body.get("reasoning_effort"))
    rules.check_range(report, "top_p", body.get("top_p"), 1)
    rules.check_effort(report, "reasoning_effort", body.get("reasoning_effort"))
    for limit in ("max_tokens", "max_completion_tokens"):
        rules.check_positive(report, limit, body.get(limit))
    both = "max_tokens" in body and "max_completion_tokens" in body
    report.need(not both, "max_tokens", "stands beside max_completion_tokens")
    streams = body.get("stream")
    report.need(streams in (None, True, False), "stream", "not a boolean")
    report.need("stream_options" not in body or streams, "stream_options", "only allowed with stream")
    if rules.REASONING_MODEL.match(model):
        what = "this model takes max_completion_tokens instead"
        report.need("max_tokens" not in body, "max_tokens", what)


def check_tool_field(body: dict[str, Any], report: Report) -> None:
    tools = body.get("tools")
    if tools is None:
        report.need("tool_choice" not in body, "tool_choice", "only allowed with tools")
        return
    if not report.need(isinstance(tools, list) and tools, "tools", "empty or not a list"):
        return
    for index, tool in enumerate(tools):
        report.need(tool.get("type") == "function", f"tools[{index}].type", "not function")
    functions = [tool.get("function") or {} for tool in tools]
    rules.check_tools(report, "tools", [(each.get("name"), each.get("parameters")) for each in functions])


def _check_content(report: Report, place: str, role: str, message: dict[str, Any]) -> None:
    content = message.get("content")
    if role == "assistant" and content is None:
        other_content = message.get("tool_calls") or message.get("refusal")
        report.need(other_content, f"{place}.content", "null without tool calls")
        return
    rules.check_parts(report, f"{place}.content", content, _CONTENT[role])


def _check_calls(report: Report, place: str, message: dict[str, Any], waiting: dict[str, None]) -> None:
    calls = message.get("tool_calls")
    if calls is None:
        return
    report.need(isinstance(calls, list) and calls, f"{place}.tool_calls", "empty or not a list")
    for index, call in enumerate(calls):
        at = f"{place}.tool_calls[{index}]"
        check_id(report, f"{at}.id", call.get("id"))
        report.need(call.get("id") not in waiting, f"{at}.id", "the same id twice")
        report.need(call.get("type") == "function", f"{at}.type", "not function")
        function = call.get("function") or {}
        rules.check_tool_name(report, f"{at}.function.name", function.get("name"))
        check_arguments(report, f"{at}.function.arguments", function.get("arguments"))
        waiting[call.get("id")] = None


def check_id(report: Report, place: str, given: Any) -> None:
    legal = isinstance(given, str) and 0 < len(given) <= _MAX_ID_CHARACTERS
    report.need(legal, place, f"{given!r} is not a string of 1 to {_MAX_ID_CHARACTERS} characters")


def check_arguments(report: Report, place: str, given: Any) -> None:
    if not report.need(isinstance(given, str), place, "not a string"):
        return
    try:
        json.loads(given)
    except ValueError:
        report.add(place, "not JSON")


def _check_result(report: Report, place: str, message: dict[str, Any], waiting: dict[str, None]) -> None:
    given = message.get("tool_call_id")
    if report.need(given in waiting, place, f"a tool result without its call just before: {given!r}"):
        del waiting[str(given)]

"""What OpenAI's responses endpoint refuses."""

from __future__ import annotations

from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.check_chat import check_arguments, check_id
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_CONTENT: Final = {
    "system": ("input_text",),
    "developer": ("input_text",),
    "user": ("input_text", "input_image", "input_file"),
    "assistant": ("output_text", "refusal"),
}
_KINDS: Final = ("message", "function_call", "function_call_output", "reasoning")


def check_responses(request: ModelRequest, report: Report) -> None:
    body = request.body
    report.need(isinstance(body.get("model"), str) and body["model"], "model", "missing")
    effort = (body.get("reasoning") or {}).get("effort")
    rules.check_effort(report, "reasoning.effort", effort)
    rules.check_temperature(report, str(body.get("model")), body.get("temperature"), effort)
    rules.check_positive(report, "max_output_tokens", body.get("max_output_tokens"), 16)
    for foreign in ("messages", "max_tokens", "max_completion_tokens", "reasoning_effort", "stream_options"):
        known = foreign == "stream_options" and body.get("stream")
        report.need(foreign not in body or known, foreign, "unknown parameter")
    _check_tools(body, report)
    given = body.get("input")
    if isinstance(given, str):
        report.need(given, "input", "empty")
    elif report.need(isinstance(given, list) and given, "input", "neither a string nor a list of items"):
        _check_items(given or [], report, stored=body.get("store") is not False)


def _check_tools(body: dict[str, Any], report: Report) -> None:
    tools = body.get("tools")
    if tools is None:
        return
    for index, tool in enumerate(tools):
        report.need(isinstance(tool.get("type"), str), f"tools[{index}].type", "missing")
        report.need("function" not in tool, f"tools[{index}]", "nested as in chat completions")
    functions = [tool for tool in tools if tool.get("type") == "function"]
    rules.check_tools(report, "tools", [(each.get("name"), each.get("parameters")) for each in functions])


def _check_items(items: list[dict[str, Any]], report: Report, *, stored: bool) -> None:
    waiting: dict[str, None] = {}
    for index, item in enumerate(items):
        place = f"input[{index}]"
        kind = item.get("type", "message" if "role" in item else None)
        if not report.need(kind in _KINDS, f"{place}.type", f"{kind!r} is not one of {', '.join(_KINDS)}"):
            continue
        if kind == "message":
            _check_message(item, place, report)
        elif kind == "function_call":
            check_id(report, f"{place}.call_id", item.get("call_id"))
            rules.check_tool_name(report, f"{place}.name", item.get("name"))
            check_arguments(report, f"{place}.arguments", item.get("arguments"))
            waiting[item["call_id"]] = None
        elif kind == "reasoning":
            kept = item.get("id") and stored
            report.need(item.get("encrypted_content") or kept, place, "reasoning that is neither kept nor encrypted")
            report.need(isinstance(item.get("summary"), list), f"{place}.summary", "missing")
        elif kind == "function_call_output":
            given = item.get("call_id")
            if report.need(given in waiting, place, f"an output without its call: {given!r}"):
                del waiting[str(given)]
    if waiting:
        report.add("input", f"calls without an output: {', '.join(waiting)}")


def _check_message(item: dict[str, Any], place: str, report: Report) -> None:
    role = item.get("role")
    if report.need(role in _CONTENT, f"{place}.role", f"{role!r} is not one of {', '.join(_CONTENT)}"):
        rules.check_parts(report, f"{place}.content", item.get("content"), _CONTENT[str(role)])

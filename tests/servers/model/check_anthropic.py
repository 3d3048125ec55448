"""What Anthropic's messages endpoint refuses."""

from __future__ import annotations

import re
from typing import Any, Final

from tests.servers.model import rules
from tests.servers.model.request import ModelRequest
from tests.servers.model.rules import Report

_CONTENT: Final = {
    "user": ("text", "image", "document", "tool_result", "search_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
}
_CALL_ID: Final = re.compile(r"^[a-zA-Z0-9_-]+$")
_MIN_BUDGET: Final = 1024
_MAX_MARKERS: Final = 4
_THOUGHTS: Final = ("thinking", "redacted_thinking")

Block = dict[str, Any]


def check_messages(request: ModelRequest, report: Report) -> None:
    body = request.body
    report.need(request.headers.get("anthropic-version"), "anthropic-version", "header missing")
    report.need(isinstance(body.get("model"), str) and body["model"], "model", "missing")
    report.need(body.get("max_tokens") is not None, "max_tokens", "missing")
    rules.check_positive(report, "max_tokens", body.get("max_tokens"))
    rules.check_range(report, "temperature", body.get("temperature"), 1)
    tools = body.get("tools") or []
    named = [tool for tool in tools if "input_schema" in tool or tool.get("type") in (None, "custom")]
    rules.check_tools(report, "tools", [(tool.get("name"), tool.get("input_schema")) for tool in named])
    thinks = _check_thinking(body, report)
    if isinstance(body.get("system"), list):
        rules.check_parts(report, "system", body["system"], ("text",))
    messages = body.get("messages")
    if not report.need(isinstance(messages, list) and messages, "messages", "empty or not a list"):
        return
    _check_markers(body, report)
    _check_turns(messages or [], report, thinks)
    uses = [block for message in messages or () for block in _blocks(message) if block.get("type") == "tool_use"]
    report.need(tools or not uses, "tools", "missing, though there are tool_use blocks")
    ids = [block.get("id") for block in uses]
    report.need(len(ids) == len(set(ids)), "messages", "tool_use ids must be unique")


def _blocks(message: dict[str, Any]) -> list[Block]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _check_markers(body: dict[str, Any], report: Report) -> None:
    system = body.get("system")
    blocks = [*(body.get("tools") or ()), *(system if isinstance(system, list) else ())]
    blocks += [block for message in body["messages"] for block in _blocks(message)]
    marked = [block for block in blocks if block.get("cache_control")]
    report.need(len(marked) <= _MAX_MARKERS, "cache_control", f"{len(marked)} markers, at most {_MAX_MARKERS}")
    for block in marked:
        legal = block.get("type") not in _THOUGHTS and (block.get("type") != "text" or block.get("text"))
        report.need(legal, "cache_control", "on thinking, or on an empty text")


def _check_thinking(body: dict[str, Any], report: Report) -> bool:
    thinking = body.get("thinking") or {}
    effort = (body.get("output_config") or {}).get("effort")
    levels = ("low", "medium", "high", "max", "xhigh")
    report.need(effort is None or effort in levels, "output_config.effort", f"{effort!r} unknown")
    if thinking.get("type") != "enabled":
        return False
    budget = thinking.get("budget_tokens")
    rules.check_positive(report, "thinking.budget_tokens", budget, _MIN_BUDGET)
    report.need((budget or 0) < body.get("max_tokens", 0), "max_tokens", "not above thinking.budget_tokens")
    report.need(body.get("temperature") in (None, 1), "temperature", "must be 1 while thinking is enabled")
    return True


def _check_turns(messages: list[dict[str, Any]], report: Report, thinks: bool) -> None:
    report.need(messages[0].get("role") == "user", "messages[0].role", "the first message must be user")
    waiting: list[str] = []
    for index, message in enumerate(messages):
        place, role = f"messages[{index}]", message.get("role")
        if not report.need(role in _CONTENT, f"{place}.role", f"{role!r} is neither user nor assistant"):
            continue
        content = message.get("content")
        last_words = role == "assistant" and index == len(messages) - 1
        report.need(content or last_words, f"{place}.content", "empty")
        rules.check_parts(report, f"{place}.content", content, _CONTENT[str(role)])
        blocks = _blocks(message)
        for number, block in enumerate(blocks):
            if block.get("type") == "text":
                report.need(block.get("text"), f"{place}.content[{number}].text", "empty")
        if role == "user":
            _check_results(blocks, waiting, place, report)
            waiting = []
            continue
        report.need(not waiting, place, f"tool_use without tool_result after it: {', '.join(waiting)}")
        waiting = _check_calls(blocks, place, report)
        first = _is_open(messages, index) and (index == 0 or not _is_results(messages[index - 1]))
        _check_thoughts(blocks, place, report, thinks and bool(waiting) and first)
    report.need(not waiting, "messages", f"end with tool_use that has no tool_result: {', '.join(waiting)}")


def _check_calls(blocks: list[Block], place: str, report: Report) -> list[str]:
    """The ids that the next message must answer."""
    ids: list[str] = []
    for number, block in enumerate(blocks):
        if block.get("type") == "tool_use":
            at, given = f"{place}.content[{number}]", str(block.get("id"))
            report.need(_CALL_ID.match(given), f"{at}.id", f"{given!r} does not match {_CALL_ID.pattern}")
            report.need(given not in ids, f"{at}.id", "the same id twice")
            rules.check_tool_name(report, f"{at}.name", block.get("name"))
            report.need(isinstance(block.get("input"), dict), f"{at}.input", "not an object")
            ids.append(given)
    return ids


def _check_results(blocks: list[Block], waiting: list[str], place: str, report: Report) -> None:
    given = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    for each in given:
        report.need(each in waiting, place, f"tool_result without its tool_use just before: {each!r}")
    report.need(len(set(given)) == len(given), place, "two results for one tool_use")
    missing = [each for each in waiting if each not in given]
    report.need(not missing, place, f"tool_use without tool_result: {', '.join(missing)}")
    kinds = [block.get("type") == "tool_result" for block in blocks]
    report.need(kinds == sorted(kinds, reverse=True), place, "tool_result blocks must come first")


def _check_thoughts(blocks: list[Block], place: str, report: Report, demanded: bool) -> None:
    for number, block in enumerate(blocks):
        if block.get("type") == "thinking":
            at = f"{place}.content[{number}].signature"
            report.need(block.get("signature"), at, "missing: a thinking block goes back unchanged")
    if demanded:
        first = blocks[0].get("type") if blocks else None
        begins = first in _THOUGHTS
        report.need(begins, place, f"expected thinking first while thinking is enabled, but found {first}")


def _is_open(messages: list[dict[str, Any]], index: int) -> bool:
    """Whether the call at `index` belongs to the turn in progress: only tool results follow it."""
    return all(_is_results(message) for message in messages[index + 1 :] if message.get("role") == "user")


def _is_results(message: dict[str, Any]) -> bool:
    blocks = _blocks(message)
    return bool(blocks) and all(block.get("type") == "tool_result" for block in blocks)

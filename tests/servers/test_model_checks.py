"""The loopback provider refuses what providers refuse, with all reasons at once."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer

USER = {"role": "user", "content": "hi"}


def calls(*ids: str) -> dict[str, Any]:
    """An assistant's message with calls of the weather tool."""
    made = [{"id": i, "type": "function", "function": {"name": "weather", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(of: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": of, "content": "sunny"}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}


CHAT: list[tuple[dict[str, Any], str | None]] = [
    ({"messages": [USER, calls("a", "b"), result("b"), result("a"), USER]}, None),
    ({"messages": [{"role": "developer", "content": [{"type": "text", "text": "x"}]}, USER]}, None),
    ({"tools": [tool("a"), tool("b-_9")], "tool_choice": "auto", "temperature": 0.3}, None),
    ({"model": "gpt-5.2", "reasoning_effort": "xhigh", "max_completion_tokens": 5}, None),
    ({"model": "gpt-5.1", "reasoning_effort": "none", "temperature": 0.2}, None),
    ({"messages": []}, "messages: empty"),
    ({"messages": "hi"}, "messages: empty or not a list"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role: 'robot'"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content: neither"),
    ({"messages": [{"role": "user", "content": []}]}, "messages[0].content: neither"),
    ({"messages": [{"role": "user", "content": [{"type": "smell"}]}]}, "messages[0].content[0].type: 'smell'"),
    ({"messages": [{"role": "system", "content": [{"type": "image_url"}]}]}, "[0].type: 'image_url'"),
    ({"messages": [USER, {"role": "assistant", "content": None}]}, "null without tool calls"),
    ({"messages": [USER | {"cache_control": {}}]}, "messages[0].cache_control: unknown field"),
    ({"messages": [USER, calls("a")]}, "end with tool calls that have no result: a"),
    ({"messages": [USER, calls("a", "b"), result("a"), USER]}, "messages[3]: tool calls without a result"),
    ({"messages": [USER, result("a")]}, "messages[1]: a tool result without its call"),
    ({"messages": [USER, calls("a"), result("a"), result("a")]}, "messages[3]: a tool result without"),
    ({"messages": [USER, calls("a", "a"), result("a")]}, "the same id twice"),
    ({"messages": [USER, calls("x" * 41), result("x" * 41)]}, "string of 1 to 40 characters"),
    ({"messages": [{"role": "user"}, None]}, "malformed beyond further checks"),
    ({"tools": [tool("a b")]}, "tools[0].name: 'a b'"),
    ({"tools": [tool("x" * 65)]}, "tools[0].name"),
    ({"tools": [tool("a"), tool("a")]}, "'a' stands twice"),
    ({"tools": []}, "tools: empty"),
    ({"tools": [tool(f"t{n}") for n in range(129)]}, "129 tools"),
    ({"tool_choice": "auto"}, "only allowed with tools"),
    ({"temperature": 2.1}, "temperature: 2.1"),
    ({"temperature": "hot"}, "temperature: 'hot'"),
    ({"reasoning_effort": "max"}, "reasoning_effort: 'max'"),
    ({"max_tokens": 0}, "max_tokens: 0"),
    ({"max_tokens": 1, "max_completion_tokens": 1}, "beside max_completion_tokens"),
    ({"model": "gpt-5.1", "max_tokens": 5}, "takes max_completion_tokens instead"),
    ({"model": "gpt-5.1", "temperature": 0.5}, None),
    ({"model": "gpt-5.1", "temperature": 0.5, "reasoning_effort": "low"}, "only supports the default"),
    ({"model": "gpt-5.2-codex", "temperature": 0.5}, "only supports the default"),
    ({"model": ""}, "model: missing"),
    ({"stream_options": {"include_usage": True}}, "only allowed with stream"),
]  # fmt: skip


def use(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": i, "name": "weather", "input": {}} for i in ids]
    return {"role": "assistant", "content": blocks}


def used(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": i, "content": "sunny"} for i in ids]
    return {"role": "user", "content": blocks}


def blocks(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


TEXT = {"type": "text", "text": "x"}
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
FIRST = blocks("assistant", THOUGHT, *use("a")["content"])
MARK = {"cache_control": {"type": "ephemeral"}}

MESSAGES: list[tuple[dict[str, Any], str | None]] = [
    ({"messages": [USER, use("a", "b"), used("b", "a")], "system": [TEXT]}, None),
    ({**THINKS, "messages": [USER, blocks("assistant", THOUGHT, *use("a")["content"]), used("a")]}, None),
    ({**THINKS, "messages": [USER, use("a"), used("a"), blocks("assistant", TEXT), USER]}, None),
    ({"messages": []}, "messages: empty"),
    ({"messages": [{"role": "system", "content": "x"}]}, "messages[0].role: 'system'"),
    ({"messages": [{"role": "assistant", "content": "x"}]}, "the first message must be user"),
    ({"messages": [{"role": "user", "content": ""}]}, "messages[0].content: empty"),
    ({"messages": [blocks("user", {"type": "text", "text": ""})]}, "messages[0].content[0].text: empty"),
    ({"messages": [blocks("user", {"type": "image_url"})]}, "'image_url' is not one of"),
    ({"messages": [USER, use("a")]}, "end with tool_use that has no tool_result: a"),
    ({"messages": [USER, use("a"), USER]}, "messages[2]: tool_use without tool_result: a"),
    ({"messages": [USER, used("a")]}, "messages[1]: tool_result without its tool_use"),
    ({"messages": [USER, use("a"), blocks("user", TEXT, *used("a")["content"])]}, "must come first"),
    ({"messages": [USER, use("a b"), used("a b")]}, "does not match"),
    ({**THINKS, "messages": [USER, use("a"), used("a")]}, "expected thinking first"),
    ({**THINKS, "messages": [USER, FIRST, used("a"), use("b"), used("b")]}, None),
    ({**THINKS, "messages": [USER, use("b"), used("b"), FIRST, used("a")]}, "messages[1]: expected thinking first"),
    ({"messages": [USER, use("a"), used("a"), use("a"), used("a")]}, "ids must be unique"),
    ({"messages": [USER, use("a"), used("a")], "tools": []}, "tools: missing"),
    ({"messages": [blocks("user", *[TEXT | MARK] * 4)], "system": [TEXT]}, None),
    ({"messages": [blocks("user", *[TEXT | MARK] * 4)], "system": [TEXT | MARK]}, "5 markers"),
    ({"messages": [blocks("user", {"type": "text", "text": "", **MARK})]}, "on thinking, or on an empty text"),
    ({**THINKS, "max_tokens": 1024}, "not above thinking.budget_tokens"),
    ({**THINKS, "temperature": 0.5}, "must be 1 while thinking"),
    ({"thinking": {"type": "enabled", "budget_tokens": 10}}, "budget_tokens: 10"),
    ({"temperature": 1.5}, "temperature: 1.5"),
    ({"max_tokens": None}, "max_tokens: missing"),
    ({"tools": [{"name": "a.b", "input_schema": {"type": "object"}}]}, "tools[0].name: 'a.b'"),
]  # fmt: skip


def part(kind: str, name: str = "weather") -> dict[str, Any]:
    return {kind: {"name": name, "args" if kind == "functionCall" else "response": {}}}


ASKED = {"role": "user", "parts": [{"text": "hi"}]}
CALLED = {"role": "model", "parts": [part("functionCall")]}
SIGNED = {"role": "model", "parts": [part("functionCall") | {"thoughtSignature": "s"}]}
ANSWERED = {"role": "user", "parts": [part("functionResponse")]}

GENERATE: list[tuple[dict[str, Any], str | None]] = [
    ({"contents": [ASKED, SIGNED, ANSWERED]}, None),
    ({"contents": [{"parts": [{"text": "hi"}]}], "generation_config": {"temperature": 2}}, None),
    ({"contents": []}, "contents: empty"),
    ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "contents[0].role: 'assistant'"),
    ({"contents": [{"role": "user", "parts": []}]}, "contents[0].parts: empty"),
    ({"contents": [{"role": "user", "parts": [{}]}]}, "contents[0].parts[0]: has 0"),
    ({"contents": [ASKED, CALLED]}, "end with a functionCall"),
    ({"contents": [ASKED, CALLED, ASKED]}, "0 function responses for 1 function calls"),
    ({"contents": [ASKED, ANSWERED]}, "1 function responses for 0 function calls"),
    ({"contents": [ASKED, CALLED, {"role": "user", "parts": [part("functionResponse", "b")]}]}, "the calls were"),
    ({"contents": [CALLED, ANSWERED]}, "a functionCall turn not after a user turn"),
    ({"contents": [ASKED, SIGNED, ANSWERED, SIGNED, ANSWERED]}, None),
    ({"contents": [ASKED, CALLED, ANSWERED, {"role": "model", "parts": [{"text": "x"}]}, ASKED]}, None),
    ({"contents": [ASKED, SIGNED, ANSWERED, CALLED, ANSWERED]}, "contents[3]: a functionCall without its"),
    ({"generationConfig": {"temperature": 3}}, "temperature: 3"),
    ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "extreme"}}}, "thinkingLevel: 'extreme'"),
    ({"tools": [{"functionDeclarations": [{"name": "a b"}]}]}, "functionDeclarations[0].name"),
]  # fmt: skip

MADE = {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "sunny"}

RESPONSES: list[tuple[dict[str, Any], str | None]] = [
    ({"input": "hi", "reasoning": {"effort": "xhigh"}}, None),
    ({"input": [USER, MADE, OUTPUT], "tools": [{"type": "function", "name": "weather"}]}, None),
    ({"input": []}, "input: neither"),
    ({"input": [{"type": "dream"}]}, "input[0].type: 'dream'"),
    ({"input": [blocks("user", TEXT)]}, "input[0].content[0].type: 'text'"),
    ({"input": [USER, MADE]}, "calls without an output: a"),
    ({"input": [USER, {"type": "reasoning", "id": "rs_1", "summary": []}]}, None),
    ({"input": [USER, {"type": "reasoning", "encrypted_content": "x", "summary": []}], "store": False}, None),
    ({"input": [USER, {"type": "reasoning", "id": "rs_1", "summary": []}], "store": False}, "neither kept nor"),
    ({"input": [USER, OUTPUT]}, "input[1]: an output without its call"),
    ({"tools": [tool("weather")]}, "tools[0]: nested as in chat completions"),
    ({"reasoning": {"effort": "max"}}, "reasoning.effort: 'max'"),
    ({"max_output_tokens": 15}, "max_output_tokens: 15"),
    ({"messages": [USER]}, "messages: unknown parameter"),
]  # fmt: skip

WIRES: dict[str, tuple[str, dict[str, Any], list[tuple[dict[str, Any], str | None]]]] = {
    "chat": ("/v1/chat/completions", {"model": "gpt-4o", "messages": [USER]}, CHAT),
    "messages": (
        "/v1/messages",
        {"model": "claude", "messages": [USER], "max_tokens": 9, "tools": [{"name": "weather", "input_schema": {}}]},
        MESSAGES,
    ),
    "generate": ("/v1beta/models/gemini-3-pro:generateContent", {"contents": [ASKED]}, GENERATE),
    "responses": ("/v1/responses", {"model": "gpt-5.2", "input": "hi"}, RESPONSES),
}
HEADERS = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}


@pytest.mark.parametrize("wire", WIRES)
async def test_each_invalid_request_is_refused_with_its_reason(wire: str) -> None:
    path, legal, table = WIRES[wire]
    async with ModelServer() as ms, httpx.AsyncClient(trust_env=False, headers=HEADERS) as client:
        for change, reason in table:
            answer = await client.post(ms.root + path, json={**legal, **change})
            body = answer.json()
            if reason is None:
                assert answer.status_code == 200, (change, body)
                assert ms.last.outcome == "completed"
            else:
                assert answer.status_code == 400, change
                assert any(reason in each for each in body["violations"]), (change, body["violations"])
                assert ms.last.outcome == "refused"
                assert ms.last.violations == tuple(body["violations"])


async def test_all_reasons_are_listed_and_no_script_is_consumed() -> None:
    async with ModelServer() as ms, httpx.AsyncClient(trust_env=False, headers=HEADERS) as client:
        ms.reply("later")
        body = {"model": "gpt-4o", "messages": [USER, calls("a")], "temperature": 9, "tools": [tool("é")]}
        answer = await client.post(f"{ms.openai_base}/chat/completions", json=body)
        places = [each.split(":")[0] for each in answer.json()["violations"]]
        assert places == ["temperature", "tools[0].name", "messages"]
        assert all(place in answer.json()["error"]["message"] for place in places)
        not_json = await client.post(f"{ms.openai_base}/chat/completions", content=b"{")
        assert not_json.status_code == 400
        assert "not JSON" in not_json.json()["violations"][0]
        no_version = await client.post(
            f"{ms.root}/v1/messages",
            json={"model": "claude", "messages": [USER]},
            headers={"anthropic-version": ""},
        )
        assert no_version.json()["violations"] == ["anthropic-version: header missing", "max_tokens: missing"]
        assert len(ms.pending) == 1

"""Tool turns of the whole bot against aimock in strict mode, over three wire formats, and what aimock rejects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from routing.llm.adapter import LiteLlm
from routing.types.llm import (
    ApiType,
    ChatMessage,
    ModelRequest,
    ProviderProfile,
    StreamEnd,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from tests.independent.aimock import Aimock, Fixture
from tests.independent.conversation import BUDGET, FIRST, STATIONS, Station, asks, point_providers_at, rounds
from tests.stories.harness import BotHarness, ask, running

pytestmark = pytest.mark.system

QUESTION, ANSWER = "What is six times seven?", "It is 42."
CALL: Fixture = {"name": "calculate", "arguments": {"expression": "6*7"}, "id": FIRST}
BEGUN = (
    ChatMessage("user", "And c?"),
    asks(ToolCall(FIRST, "web.search/v2", '{"q": "c"}'), text="Looking."),
    ChatMessage("tool", "c is old", call_id=FIRST, tool="web.search/v2"),
)
"""An unfinished turn that another model started."""


def use_tool(station: Station, **more: Any) -> list[Fixture]:
    """Fixtures: a tool call, then the answer once the tool result was sent."""
    asked: Fixture = {"match": {"userMessage": QUESTION, "hasToolResult": False}}
    done: Fixture = {"match": {"toolResultContains": "42"}, "response": {"content": ANSWER}}
    if station.kind == "gemini":  # aimock does not parse the tool results that LiteLLM sends to Gemini
        done = {"match": {"endpoint": "chat"}, "response": {"content": ANSWER}}
    return [asked | {"response": {"toolCalls": [CALL], **more}}, done]


@pytest.mark.parametrize("station", STATIONS, ids=lambda station: station.model)
async def test_a_turn_with_tools(on: BotHarness, aimock: Aimock, station: Station) -> None:
    """The model gives its call an id that no provider accepts back."""
    point_providers_at(on, aimock)
    await aimock.answers(*use_tool(station))
    async with running(on):
        await ask(on, f"/model balanced {station.model}")
        assert (await ask(on, QUESTION)).text == ANSWER
        await aimock.reset()
        await aimock.answers(*use_tool(station))
        assert (await ask(on, QUESTION)).text == ANSWER
    sent = await aimock.sent()
    assert [each.status for each in sent] == [200, 200]
    assert FIRST in str(on.rows("SELECT calls, call_id FROM messages")), "stored as it came"
    if station.kind != "gemini":
        first, second = (rounds("openai", each.body) for each in sent)
        assert (len(first), len(second)) == (1, 2)
        assert first[0] == second[0]
        assert all(re.fullmatch("call_[0-9a-f]{24}", each.id) and "42" in each.result for each in second)
        assert second[0].id != second[1].id, "the same id twice is two"


async def test_a_tool_call_is_returned_with_its_thinking(on: BotHarness, aimock: Aimock) -> None:
    """aimock rejects the turn's second request unless it starts with the signed thinking of the first."""
    point_providers_at(on, aimock)
    await aimock.answers(*use_tool(BUDGET, reasoning="Six, seven.", reasoningSignature="c2lnbmVk"))
    async with running(on):
        await ask(on, f"/model balanced {BUDGET.model}")
        assert (await ask(on, QUESTION)).text == ANSWER
    assert [each.status for each in await aimock.sent()] == [200, 200]


async def test_a_turn_begun_by_another_model_continues_on_thinking_claude(aimock: Aimock, llm: LiteLlm) -> None:
    await aimock.says("c is old.")
    where = ProviderProfile("anthropic", "anthropic", aimock.base("anthropic"), "sk-mine", 30.0, "X")
    tools = (ToolSpec("web.search/v2", "Search.", {}),)
    request = ModelRequest("balanced", BUDGET.model, BEGUN, where, "high", None, tools)
    for _ in range(2):
        *words, end = [event async for event in llm.stream(request)]
        assert "".join(each.text for each in words if isinstance(each, TextDelta)) == "c is old."
        assert isinstance(end, StreamEnd)
        assert end.finish == "stop"
    first, second = await aimock.sent()
    assert (first.status, second.status) == (200, 200)
    told, again = (rounds("openai", each.body) for each in (first, second))
    assert told == again
    assert told[0].result == "c is old"
    assert "foreign" not in str(first.body)


# Controls


async def test_aimock_refuses_a_tool_turn_without_its_thinking(aimock: Aimock) -> None:
    await aimock.says("Noted.")
    use = {"type": "tool_use", "id": "a", "name": "search", "input": {}}
    body: dict[str, Any] = {
        "model": "claude-haiku-4-5",
        "max_tokens": 2048,
        "messages": [
            {"role": "user", "content": "And c?"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "c is old"}]},
        ],
    }
    assert await aimock.call("POST", "/v1/messages", body)
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    refused = await aimock.call("POST", "/v1/messages", body, status=400)
    assert "must begin with a `thinking` block" in refused["error"]["message"]


SHAPELESS: dict[ApiType, tuple[str, Fixture, str]] = {
    "openai": ("/v1/chat/completions", {"model": "m"}, "Missing required parameter: 'messages'"),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"parts": "hi"}]}, "parts must be an array"),
}


@pytest.mark.parametrize("kind", SHAPELESS)
async def test_aimock_refuses_malformed_requests(aimock: Aimock, kind: ApiType) -> None:
    await aimock.says("Noted.")
    path, body, why = SHAPELESS[kind]
    assert why in (await aimock.call("POST", path, body, status=400))["error"]["message"]


async def test_aimock_only_answers_from_fixtures(on: BotHarness, aimock: Aimock) -> None:
    """An answer proves that the request matched its fixture."""
    point_providers_at(on, aimock)
    await aimock.answers(*use_tool(STATIONS[0])[1:])
    async with running(on):
        assert "no fixture matched" in (await ask(on, QUESTION)).text
    assert {each.status for each in await aimock.sent()} == {503}

"""Which provider gets which cache markers, through LiteLLM's real code."""

from dataclasses import replace
from typing import Any

import pytest

from routing.llm.adapter import LiteLlm
from routing.types.llm import ChatMessage, ProviderProfile
from tests.routing.turn.conversations import CALLS, HISTORY, base, collect, goes_on, over
from tests.servers.model import ModelServer


def marked(body: dict[str, Any]) -> list[str]:
    """The texts with a cache marker for Anthropic, in order."""
    system = body.get("system") or []
    parts = [
        *system,
        *(part for message in body["messages"] for part in message.get("content", ()) if isinstance(part, dict)),
    ]
    return [part.get("text") or part["content"] for part in parts if "cache_control" in part]


async def test_anthropic_gets_cache_markers(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    await collect(llm, request)
    assert marked(ms.last.body) == ["Be brief.", "Well?"]
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    await collect(llm, goes_on(request, "", end))
    assert marked(ms.last.body) == ["Be brief.", "Well?", "result 1"]
    summary = ChatMessage("system", "[Conversation summary] They spoke.")
    await collect(llm, goes_on(replace(request, messages=(HISTORY[0], summary, *HISTORY[1:])), "", end))
    assert marked(ms.last.body) == ["Be brief.", summary.text, "Well?", "result 1"]
    await collect(llm, over(ms, "claude", ChatMessage("user", "hi")))
    assert marked(ms.last.body) == ["hi"]


@pytest.mark.parametrize(("name", "marks"), [("anthropic/claude-sonnet-4.5", True), ("openai/gpt-5.2", False)])
async def test_claude_behind_openrouter_gets_cache_markers(
    llm: LiteLlm, ms: ModelServer, name: str, marks: bool
) -> None:
    where = ProviderProfile("openrouter", None, base(ms, "openai", "openrouter"), "sk-mine", 30.0, "OPENROUTER_API_KEY")
    request = over(ms, "chat", model=f"openrouter/{name}", profile=where, reasoning="high", temperature=0.5)
    _, end = await collect(llm, request)
    assert end.finish == "stop"
    assert marked(ms.last.body) == (["Be brief.", "Well?"] if marks else [])
    assert ms.last.reading.temperature == (None if marks else 0.5)


@pytest.mark.parametrize("wire", ["chat", "gemini 2", "custom"])
async def test_other_providers_get_no_cache_markers(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await collect(llm, over(ms, wire))
    assert "cache_control" not in str(ms.last.body)

"""A model gets its own thinking back, and no other model does: in every wire format, through LiteLLM's real code."""

import json
import re
from dataclasses import replace

import pytest

from routing.errors import BadModelRequest
from routing.llm.adapter import LiteLlm
from routing.llm.streaming.thinking import readable
from routing.types.llm import ChatMessage, ThinkingDelta
from tests.routing.turn.conversations import CALLS, HISTORY, collect, goes_on, over, profile, text
from tests.servers.model import ModelServer
from tests.servers.model.wire_anthropic import SIGNATURE
from tests.servers.model.wire_gemini import SIGNATURE as THOUGHT_SIGNATURE
from tests.servers.model.wire_responses import ENCRYPTED


def blocks(ms: ModelServer) -> list[str]:
    """The kinds of the blocks of Claude's last answer in the last request."""
    answers = [message for message in ms.last.body["messages"] if message["role"] == "assistant"]
    return [block["type"] for block in answers[-1]["content"]]


async def test_claudes_thinking_is_returned_only_within_its_turn(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    ms.call_tools(CALLS, thinking="secret")
    events, end = await collect(llm, request)
    assert ThinkingDelta() in events
    assert text(events) == ""
    assert json.loads(end.thinking) == [{"type": "thinking", "thinking": "secret", "signature": SIGNATURE}]
    request = goes_on(request, "", end)
    await collect(llm, request)
    assert blocks(ms) == ["thinking", "tool_use", "tool_use"]
    assert ms.last.reading.thinking_budget
    later = (*request.messages, ChatMessage("assistant", "D."), ChatMessage("user", "And e?"))
    await collect(llm, replace(request, messages=later))
    assert "secret" not in str(ms.last.body)
    assert ms.last.reading.thinking_budget


async def test_a_turn_begun_by_another_model_has_no_thinking_budget(llm: LiteLlm, ms: ModelServer) -> None:
    begun = (*HISTORY[:2], HISTORY[2], *HISTORY[3:5])
    await collect(llm, over(ms, "claude", *begun, temperature=0.5))
    assert "thinking" not in ms.last.body
    assert ms.last.reading.temperature == 0.5
    await collect(llm, over(ms, "adaptive claude", *begun))
    assert ms.last.body["thinking"]["type"] == "adaptive"
    assert ms.last.reading.effort == "high"


async def test_without_reasoning_no_thinking_is_shown_to_claude(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    await collect(llm, goes_on(replace(request, reasoning=None), "", end))
    assert "secret" not in str(ms.last.body)
    assert blocks(ms) == ["tool_use", "tool_use"]


@pytest.mark.parametrize("wire", ["claude", "custom claude"])
async def test_thinking_leaves_room_for_the_answer_and_no_temperature(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await collect(llm, over(ms, wire, temperature=0.5))
    reading = ms.last.reading
    assert reading.thinking_budget
    assert reading.max_tokens
    assert reading.temperature is None
    assert reading.max_tokens == 64000, "what the library's map says that it may write"


@pytest.mark.parametrize("level", ["minimal", "low", "medium", "high", "xhigh", "max"])
async def test_without_room_for_its_thinking_claude_answers_at_once(llm: LiteLlm, ms: ModelServer, level: str) -> None:
    request = replace(over(ms, "claude"), reasoning=level)
    await collect(llm, request)
    budget = ms.last.reading.thinking_budget
    assert budget
    await collect(llm, replace(request, max_output=budget + 1))
    assert ms.last.reading.thinking_budget == budget
    await collect(llm, replace(request, max_output=budget))
    assert "thinking" not in ms.last.body


def test_the_names_of_fields_are_not_among_the_words_of_thinking() -> None:
    texts = ['Is it "type": "number"?', "Yes."]
    blocks = [
        {"type": "reasoning_content", "text": texts[0], "index": 0},
        {"type": "reasoning", "encrypted_content": "abc=", "summary": [{"type": "summary_text", "text": texts[1]}]},
        {"type": "thinking", "thinking": "", "signature": "abc="},
    ]
    found = readable(json.dumps(blocks))
    assert [each for each in texts if json.dumps(each) not in found] == []
    assert re.findall(r"[a-z]\w+", found.replace(json.dumps(texts[0]), "").replace(texts[1], "")) == []


async def test_geminis_signature_is_returned_with_its_call(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "gemini 3")
    ms.call_tools(CALLS)
    _, end = await collect(llm, request)
    assert [call.signature for call in end.calls] == [THOUGHT_SIGNATURE, ""]
    await collect(llm, goes_on(request, "", end))
    parts = [part for content in ms.last.body["contents"] for part in content["parts"] if "function_call" in part]
    assert [part.get("thoughtSignature") for part in parts[-2:]] == [THOUGHT_SIGNATURE, None]
    assert parts[-1]["function_call"]["id"] == end.calls[1].id


async def test_responses_reasoning_is_returned_encrypted_without_storage(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    request = over(ms, "responses", profile=profile("openai", "openai", None))
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    assert ms.last.endpoint == "responses"
    assert ms.last.body["store"] is False
    await collect(llm, goes_on(request, "", end))
    (item,) = [each for each in ms.last.body["input"] if each["type"] == "reasoning"]
    assert item["encrypted_content"] == ENCRYPTED
    assert "id" not in item
    at_home = goes_on(replace(request, profile=profile("openai", "openai", ms.openai_base)), "", end)
    await collect(llm, at_home)
    assert ms.last.path == "/v1/chat/completions"
    assert ENCRYPTED not in str(ms.last.body)
    assert "store" not in ms.last.body


async def test_text_reasoning_is_returned_to_its_provider(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "custom")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    await collect(llm, goes_on(request, "", end))
    said = [message.get("reasoning_content") for message in ms.last.body["messages"] if message["role"] == "assistant"]
    assert said[-1] == "secret"
    assert not any(said[:-1])


BOUND = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."


async def test_refused_thinking_is_dropped_at_once(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "adaptive claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    ms.fail(400, message=BOUND)
    ms.reply("There.")
    events, _ = await collect(llm, goes_on(request, "", end))
    assert text(events) == "There."
    assert len(ms.calls) == 3
    assert "secret" in str(ms.calls[1].body)
    assert "secret" not in str(ms.last.body)


async def test_other_refusals_are_raised(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "adaptive claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await collect(llm, request)
    ms.fail(400, message="No such luck.")
    with pytest.raises(BadModelRequest, match="No such luck"):
        await collect(llm, goes_on(request, "", end))
    ms.fail(400, message=BOUND)
    with pytest.raises(BadModelRequest, match="Invalid"):
        await collect(llm, request)
    assert len(ms.calls) == 3, "without thinking in it a request is not sent twice"

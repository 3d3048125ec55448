"""Conversations with tools over every wire, through LiteLLM's real code, before a server that refuses what the real
ones refuse."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from routing.calls import (
    ApiType,
    ChatMessage,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolSpec,
)
from routing.calls import ModelRequest as Request
from routing.errors import BadModelRequest
from routing.llm import LiteLlm
from routing.local.runtime import LocalRuntime
from tests.library import litellm_without_clients
from tests.routing.test_llm_wire import CATALOG, base, profile
from tests.servers.model import ModelServer, Script
from tests.servers.model.scripting import Call, tool_call
from tests.servers.model.wire_anthropic import SIGNATURE
from tests.servers.model.wire_gemini import SIGNATURE as THOUGHT_SIGNATURE
from tests.servers.model.wire_responses import ENCRYPTED

WIRES: dict[str, tuple[str, ApiType, str | None]] = {
    "chat": ("openai/gpt-5.1", "openai", "medium"),
    "responses": ("openai/gpt-5.4", "openai", "medium"),
    "claude": ("anthropic/claude-haiku-4-5", "anthropic", "high"),
    "adaptive claude": ("anthropic/claude-opus-4-7", "anthropic", "high"),
    "gemini 2": ("gemini/gemini-2.5-flash", "gemini", "low"),
    "gemini 3": ("gemini/gemini-3.5-flash", "gemini", "high"),
    "custom": ("house/llama-99", "openai", None),
    "custom claude": ("house/claude-sonnet-4-5", "anthropic", "high"),
}
"""Model, protocol, reasoning. The bridge to /responses is taken at OpenAI's own address only."""

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = (ToolSpec("files.read", "Read a file.", SCHEMA), ToolSpec("weather", "Tell the weather.", {}))
LONG = "toolu_" + "x" * 54
FOREIGN = '[{"type": "thinking", "thinking": "foreign thought", "signature": "foreign"}]'
HISTORY = (
    ChatMessage("system", "Be brief."),
    ChatMessage("user", "Read a.txt."),
    ChatMessage(
        "assistant", "Looking.", made_by="mars/x", thinking=FOREIGN,
        calls=(ToolCall(LONG, "files.read", '{"path": "a"}', "foreign"), ToolCall("a b", "weather", "not json")),
    ),
    ChatMessage("tool", "sunny", call_id="a b", tool="weather"),
    ChatMessage("tool", "it says A", call_id=LONG, tool="files.read"),
    ChatMessage("assistant", "", made_by="mars/x", calls=(ToolCall(LONG, "files.read", '{"path": "b"}', "foreign"),)),
    ChatMessage("tool", "it says B", call_id=LONG, tool="files.read"),
    ChatMessage("assistant", "A and B.", made_by="mars/x"),
    ChatMessage("tool", "too late", call_id="lost", tool="weather"),
    ChatMessage("user", "And c.txt?"),
    ChatMessage("assistant", "", made_by="mars/x", calls=(ToolCall("dangling", "files.read", '{"path": "c"}'),)),
    ChatMessage("user", "Well?"),
)  # fmt: skip
"""Begun elsewhere: names with a dot, ids of 60 characters (one of them twice), arguments that are not JSON, results
out of order, one without a call, one missing, thinking that nobody else can check."""


@pytest.fixture
async def ms() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server
        assert [problem for call in server.calls for problem in call.violations] == []


@pytest.fixture
async def llm(tmp_path: Path) -> AsyncIterator[LiteLlm]:
    local = LocalRuntime(tmp_path, time.time)
    made = LiteLlm(local, CATALOG)
    await made.load()
    litellm_without_clients()
    yield made
    await local.close()


@pytest.fixture(params=WIRES)
def asked(request: pytest.FixtureRequest, ms: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Request:
    """A request over each wire, with the history and the tools."""
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    model, kind, reasoning = WIRES[request.param]
    address = None if request.param == "responses" else base(ms, kind)
    return Request("balanced", model, HISTORY, profile(model.partition("/")[0], kind, address), reasoning, None, TOOLS)


def over(ms: ModelServer, wire: str, *messages: ChatMessage, **more: Any) -> Request:
    model, kind, reasoning = WIRES[wire]
    where = profile(model.partition("/")[0], kind, base(ms, kind))
    request = Request("balanced", model, messages or HISTORY, where, reasoning, None, TOOLS)
    return replace(request, **more)


async def heard(llm: LiteLlm, request: Request) -> tuple[list[StreamEvent], StreamEnd]:
    events = [event async for event in llm.stream(request)]
    end = events.pop()
    assert isinstance(end, StreamEnd)
    return events, end


def text(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def goes_on(request: Request, said: str, end: StreamEnd) -> Request:
    """The next call of the same turn: the answer as it is stored, and a result for each call."""
    answer = ChatMessage("assistant", said, calls=end.calls, made_by=request.model, thinking=end.thinking)
    results = [ChatMessage("tool", f"result {n}", call_id=each.id, tool=each.name) for n, each in enumerate(end.calls)]
    return replace(request, messages=(*request.messages, answer, *results))


CALLS: list[Call] = [("files_read", {"path": "d"}), ("weather", {})]


async def test_a_conversation_from_elsewhere_goes_on_with_two_rounds_of_tools(
    llm: LiteLlm, ms: ModelServer, asked: Request
) -> None:
    before = deepcopy(asked)
    ms.call_tools(CALLS, text="Let me see.", thinking="secret" if asked.reasoning else "", usage=(1000, 50, 600, 10))
    ms.call_tools([("files_read", {"path": "e"})], usage=(1100, 20, 1000, 0))
    ms.reply("All read.", usage=(1200, 10, 1100, 0))
    events, end = await heard(llm, asked)
    assert asked == before, "what is stored stays as it was"
    assert text(events) == "Let me see." and end.finish == "tools"
    assert [(call.name, json.loads(call.arguments)) for call in end.calls] == [("files.read", {"path": "d"}), CALLS[1]]
    assert len({call.id for call in end.calls}) == 2 and "__thought__" not in str(end.calls)
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == (1000, 50, 600)
    second = goes_on(asked, "Let me see.", end)
    events, end = await heard(llm, second)
    assert (text(events), end.finish, end.calls[0].name) == ("", "tools", "files.read")
    events, end = await heard(llm, goes_on(second, "", end))
    assert (text(events), end.finish, end.calls) == ("All read.", "stop", ())
    assert end.usage is not None and end.usage.cached_tokens == 1100
    assert [call.outcome for call in ms.calls] == ["completed"] * 3
    assert all(call.reading.tool_names == ("files_read", "weather") for call in ms.calls)
    assert "foreign" not in str([call.body for call in ms.calls]), "nobody is given another's thinking"


async def test_the_same_ids_and_results_in_two_requests(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    await heard(llm, asked)
    await heard(
        llm, replace(asked, messages=(*HISTORY, ChatMessage("assistant", "C."), ChatMessage("user", "Thanks.")))
    )
    first, second = (prompt(call.body) for call in ms.calls)
    assert [result.text for result in ms.calls[0].reading.tool_results if "interrupted" not in result.text][:3] == [
        result.text for result in ms.calls[1].reading.tool_results
    ][:3]
    assert second[: len(first)] == first, "a provider's cache finds the whole of the first prompt in the second"


def prompt(body: dict[str, Any]) -> list[Any]:
    """The conversation in a body, less the markers for Anthropic's cache."""
    found: list[Any] = body.get("messages") or body.get("input") or body["contents"]
    bare: list[Any] = json.loads(json.dumps(found).replace(', "cache_control": {"type": "ephemeral"}', ""))
    return bare


async def test_forbidden_calls_keep_the_tools_and_are_dropped_if_they_come(
    llm: LiteLlm, ms: ModelServer, asked: Request
) -> None:
    ms.call_tools(CALLS, text="I would.")
    events, end = await heard(llm, replace(asked, may_call=False))
    assert (text(events), end.finish, end.calls, end.thinking) == ("I would.", "stop", (), "")
    config = (ms.last.body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    choice = ms.last.body.get("tool_choice", config.get("mode"))
    assert choice in ("none", {"type": "none"}, "NONE") and len(ms.last.reading.tool_names) == 2


async def test_without_tools_no_tool_message_goes_out(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    await heard(llm, replace(asked, tools=()))
    assert "tools" not in ms.last.body and ms.last.reading.tool_results == ()
    assert "it says A" in str(ms.last.body) and "too late" not in str(ms.last.body)


async def test_a_call_that_breaks_off_is_none(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    ms.script(Script(calls=tuple(tool_call(each) for each in CALLS), fault="truncate", fault_after=2))
    ms.call_tools(CALLS, finish="length")
    ms.call_tools(CALLS, finish="content_filter")
    ends = [(await heard(llm, asked))[1] for _ in range(3)]
    assert [end.finish for end in ends] == ["cut", "length", "policy"]
    assert [end.calls for end in ends] == [()] * 3


async def test_arguments_reach_the_tool_as_the_model_wrote_them(llm: LiteLlm, ms: ModelServer) -> None:
    for wire in ("chat", "claude"):
        ms.call_tools([("files_read", '{"path": oops')])
        request = over(ms, wire, ChatMessage("user", "hi"))
        _, end = await heard(llm, request)
        assert (end.finish, end.calls[0].arguments) == ("tools", '{"path": oops')
        await heard(llm, goes_on(request, "", end))
        assert "_raw" in str(ms.last.body)


# Thinking


def blocks(ms: ModelServer) -> list[str]:
    """The kinds of the blocks of Claude's last answer in the last request."""
    answers = [message for message in ms.last.body["messages"] if message["role"] == "assistant"]
    return [block["type"] for block in answers[-1]["content"]]


async def test_claudes_thinking_goes_back_in_its_turn_and_not_later(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    ms.call_tools(CALLS, thinking="secret")
    events, end = await heard(llm, request)
    assert ThinkingDelta() in events and text(events) == ""
    assert json.loads(end.thinking) == [{"type": "thinking", "thinking": "secret", "signature": SIGNATURE}]
    request = goes_on(request, "", end)
    await heard(llm, request)
    assert blocks(ms) == ["thinking", "tool_use", "tool_use"] and ms.last.reading.thinking_budget
    later = (*request.messages, ChatMessage("assistant", "D."), ChatMessage("user", "And e?"))
    await heard(llm, replace(request, messages=later))
    assert "secret" not in str(ms.last.body) and ms.last.reading.thinking_budget


async def test_a_turn_that_began_elsewhere_goes_on_without_a_thinking_budget(llm: LiteLlm, ms: ModelServer) -> None:
    begun = (*HISTORY[:2], HISTORY[2], *HISTORY[3:5])
    await heard(llm, over(ms, "claude", *begun, temperature=0.5))
    assert "thinking" not in ms.last.body and ms.last.reading.temperature == 0.5
    await heard(llm, over(ms, "adaptive claude", *begun))
    assert ms.last.body["thinking"]["type"] == "adaptive" and ms.last.reading.effort == "high"


async def test_without_reasoning_no_thinking_is_shown_to_claude(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    await heard(llm, goes_on(replace(request, reasoning=None), "", end))
    assert "secret" not in str(ms.last.body) and blocks(ms) == ["tool_use", "tool_use"]


@pytest.mark.parametrize("wire", ["claude", "custom claude"])
async def test_thinking_leaves_room_for_the_answer_and_no_temperature(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await heard(llm, over(ms, wire, temperature=0.5))
    reading = ms.last.reading
    assert reading.thinking_budget and reading.max_tokens and reading.temperature is None
    assert reading.max_tokens == 64000, "what the library's map says that it may write"


async def test_geminis_signature_goes_back_with_its_call(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "gemini 3")
    ms.call_tools(CALLS)
    _, end = await heard(llm, request)
    assert [call.signature for call in end.calls] == [THOUGHT_SIGNATURE, ""]
    await heard(llm, goes_on(request, "", end))
    parts = [part for content in ms.last.body["contents"] for part in content["parts"] if "function_call" in part]
    assert [part.get("thoughtSignature") for part in parts[-2:]] == [THOUGHT_SIGNATURE, None]
    assert parts[-1]["function_call"]["id"] == end.calls[1].id


async def test_reasoning_goes_back_to_responses_encrypted_and_nothing_is_kept_there(
    llm: LiteLlm, ms: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    request = over(ms, "responses", profile=profile("openai", "openai", None))
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    assert ms.last.endpoint == "responses" and ms.last.body["store"] is False
    await heard(llm, goes_on(request, "", end))
    (item,) = [each for each in ms.last.body["input"] if each["type"] == "reasoning"]
    assert item["encrypted_content"] == ENCRYPTED and "id" not in item
    at_home = goes_on(replace(request, profile=profile("openai", "openai", ms.openai_base)), "", end)
    await heard(llm, at_home)
    assert ms.last.path == "/v1/chat/completions" and ENCRYPTED not in str(ms.last.body) and "store" not in ms.last.body


async def test_reasoning_goes_back_where_it_came_as_text(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "custom")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    await heard(llm, goes_on(request, "", end))
    said = [message.get("reasoning_content") for message in ms.last.body["messages"] if message["role"] == "assistant"]
    assert said[-1] == "secret" and not any(said[:-1])


BOUND = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."


async def test_thinking_that_is_refused_is_left_out_at_once(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "adaptive claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    ms.fail(400, message=BOUND)
    ms.reply("There.")
    events, _ = await heard(llm, goes_on(request, "", end))
    assert text(events) == "There." and len(ms.calls) == 3
    assert "secret" in str(ms.calls[1].body) and "secret" not in str(ms.last.body)


async def test_another_refusal_is_told(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "adaptive claude")
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    ms.fail(400, message="No such luck.")
    with pytest.raises(BadModelRequest, match="No such luck"):
        await heard(llm, goes_on(request, "", end))
    ms.fail(400, message=BOUND)
    with pytest.raises(BadModelRequest, match="Invalid"):
        await heard(llm, request)
    assert len(ms.calls) == 3, "without thinking in it a request is not sent twice"


# Caches


def marked(body: dict[str, Any]) -> list[str]:
    """The texts behind which Anthropic's cache is marked, in order."""
    system = body.get("system") or []
    parts = [
        *system,
        *(part for message in body["messages"] for part in message.get("content", ()) if isinstance(part, dict)),
    ]
    return [part.get("text") or part["content"] for part in parts if "cache_control" in part]


async def test_anthropic_is_told_what_to_keep(llm: LiteLlm, ms: ModelServer) -> None:
    request = over(ms, "claude")
    await heard(llm, request)
    assert marked(ms.last.body) == ["Be brief.", "Well?"]
    ms.call_tools(CALLS, thinking="secret")
    _, end = await heard(llm, request)
    await heard(llm, goes_on(request, "", end))
    assert marked(ms.last.body) == ["Be brief.", "Well?", "result 1"]
    summary = ChatMessage("system", "[Conversation summary] They spoke.")
    await heard(llm, goes_on(replace(request, messages=(HISTORY[0], summary, *HISTORY[1:])), "", end))
    assert marked(ms.last.body) == ["Be brief.", summary.text, "Well?", "result 1"]
    await heard(llm, over(ms, "claude", ChatMessage("user", "hi")))
    assert marked(ms.last.body) == ["hi"]


@pytest.mark.parametrize(("name", "marks"), [("anthropic/claude-sonnet-4.5", True), ("openai/gpt-5.2", False)])
async def test_claude_behind_openrouter_is_told_too(llm: LiteLlm, ms: ModelServer, name: str, marks: bool) -> None:
    where = ProviderProfile("openrouter", None, base(ms, "openai", "openrouter"), "sk-mine", 30.0, "OPENROUTER_API_KEY")
    request = over(ms, "chat", model=f"openrouter/{name}", profile=where, reasoning="high", temperature=0.5)
    _, end = await heard(llm, request)
    assert end.finish == "stop"
    assert marked(ms.last.body) == (["Be brief.", "Well?"] if marks else [])
    assert ms.last.reading.temperature == (None if marks else 0.5)


@pytest.mark.parametrize("wire", ["chat", "gemini 2", "custom"])
async def test_nobody_else_is_told(llm: LiteLlm, ms: ModelServer, wire: str) -> None:
    await heard(llm, over(ms, wire))
    assert "cache_control" not in str(ms.last.body)


# What else must not happen


async def test_a_stream_that_is_left_ends_at_the_provider(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    ms.reply("one two three four five six seven eight", delay=0.2)
    events = llm.stream(asked)
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()  # type: ignore[attr-defined]
    assert await ms.last.finished() == "cut"


PROBE = """
import asyncio, sys, time
from pathlib import Path
from routing.calls import ChatMessage, ModelRequest, ProviderProfile, ToolSpec
from routing.catalog import BUNDLED, Catalog
from routing.llm import LiteLlm
from routing.local.runtime import LocalRuntime

async def main(addresses):
    tools = (ToolSpec("a", "d", {}),)
    llm = LiteLlm(LocalRuntime(Path(sys.argv[1]), time.time), Catalog.load(BUNDLED))
    for model, kind, address in addresses:
        where = ProviderProfile(kind, kind, address, "sk-mine", 30.0, "X")
        request = ModelRequest("balanced", model, (ChatMessage("user", "hi"),), where, None, None, tools)
        assert [event async for event in llm.stream(request)][-1].finish == "stop", model
    print([name for name in sys.modules if name.split(".")[0] == "mcp"])

asyncio.run(main([line.split() for line in sys.argv[2:]]))
"""


async def test_a_call_with_tools_does_not_import_mcp(ms: ModelServer, tmp_path: Path) -> None:
    """In a process of its own: here others may have imported it."""
    lines = [
        f"{model} {kind} {base(ms, kind)}" for model, kind, _ in (WIRES["chat"], WIRES["claude"], WIRES["gemini 3"])
    ]
    command = [sys.executable, "-W", "ignore", "-c", PROBE, str(tmp_path), *lines]
    process = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stdout.strip()) == (0, "[]"), process.stderr
    assert len(ms.calls) == 3 and all(call.reading.tool_names == ("a",) for call in ms.calls)

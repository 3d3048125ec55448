"""Conversations with tools in every wire format, through LiteLLM's real code, with a server that refuses what the real
ones refuse."""

import asyncio
import json
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from routing.llm.adapter import LiteLlm
from routing.types.llm import ChatMessage, TextDelta, ToolSpec
from routing.types.llm import ModelRequest as Request
from tests.routing.turn.conversations import (
    CALLS,
    HISTORY,
    TOOLS,
    WIRES,
    base,
    collect,
    goes_on,
    over,
    profile,
    text,
)
from tests.servers.model import ModelServer, Script
from tests.servers.model.scripting import tool_call


@pytest.fixture(params=WIRES)
def asked(request: pytest.FixtureRequest, ms: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Request:
    """A request in each wire format, with the history and the tools."""
    monkeypatch.setenv("OPENAI_API_BASE", ms.openai_base)
    model, kind, reasoning = WIRES[request.param]
    address = None if request.param == "responses" else base(ms, kind)
    return Request("balanced", model, HISTORY, profile(model.partition("/")[0], kind, address), reasoning, None, TOOLS)


async def test_a_conversation_from_another_provider_continues_with_tools(
    llm: LiteLlm, ms: ModelServer, asked: Request
) -> None:
    before = deepcopy(asked)
    ms.call_tools(CALLS, text="Let me see.", thinking="secret" if asked.reasoning else "", usage=(1000, 50, 600, 10))
    ms.call_tools([("files_read", {"path": "e"})], usage=(1100, 20, 1000, 0))
    ms.reply("All read.", usage=(1200, 10, 1100, 0))
    events, end = await collect(llm, asked)
    assert asked == before, "what is stored stays as it was"
    assert text(events) == "Let me see."
    assert end.finish == "tools"
    assert [(call.name, json.loads(call.arguments)) for call in end.calls] == [("files.read", {"path": "d"}), CALLS[1]]
    assert len({call.id for call in end.calls}) == 2
    assert "__thought__" not in str(end.calls)
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens, end.usage.cached_tokens) == (1000, 50, 600)
    second = goes_on(asked, "Let me see.", end)
    events, end = await collect(llm, second)
    assert (text(events), end.finish, end.calls[0].name) == ("", "tools", "files.read")
    events, end = await collect(llm, goes_on(second, "", end))
    assert (text(events), end.finish, end.calls) == ("All read.", "stop", ())
    assert end.usage is not None
    assert end.usage.cached_tokens == 1100
    assert [call.outcome for call in ms.calls] == ["completed"] * 3
    assert all(call.reading.tool_names == ("files_read", "weather") for call in ms.calls)
    assert "foreign" not in str([call.body for call in ms.calls]), "no model gets another's thinking"


async def test_no_provider_changes_the_schemas_of_tools(llm: LiteLlm, asked: Request) -> None:
    """LiteLLM rewrites them in place for Gemini; later calls of other models and the check of arguments read them."""
    either = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    one = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False}
    properties = {"count": either, "people": {"type": "array", "items": {"$ref": "#/$defs/Person"}}}
    schema = {"type": "object", "properties": properties, "$defs": {"Person": one}, "required": ["count"]}
    asked = replace(asked, tools=(*TOOLS, ToolSpec("invite", "Invite people.", schema)))
    before = deepcopy(asked)
    for _ in range(2):
        await collect(llm, asked)
    assert asked == before


async def test_the_same_ids_and_results_in_two_requests(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    await collect(llm, asked)
    await collect(
        llm, replace(asked, messages=(*HISTORY, ChatMessage("assistant", "C."), ChatMessage("user", "Thanks.")))
    )
    first, second = (prompt(call.body) for call in ms.calls)
    assert [result.text for result in ms.calls[0].reading.tool_results if "interrupted" not in result.text][:3] == [
        result.text for result in ms.calls[1].reading.tool_results
    ][:3]
    assert second[: len(first)] == first, "a provider's cache finds the whole of the first prompt in the second"


def prompt(body: dict[str, Any]) -> list[Any]:
    """The conversation in a body, without the markers for Anthropic's cache."""
    found: list[Any] = body.get("messages") or body.get("input") or body["contents"]
    bare: list[Any] = json.loads(json.dumps(found).replace(', "cache_control": {"type": "ephemeral"}', ""))
    return bare


async def test_with_tool_choice_none_unexpected_calls_are_dropped(
    llm: LiteLlm, ms: ModelServer, asked: Request
) -> None:
    ms.call_tools(CALLS, text="I would.")
    events, end = await collect(llm, replace(asked, may_call=False))
    assert (text(events), end.finish, end.calls, end.thinking) == ("I would.", "stop", (), "")
    config = (ms.last.body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    choice = ms.last.body.get("tool_choice", config.get("mode"))
    assert choice in ("none", {"type": "none"}, "NONE")
    assert len(ms.last.reading.tool_names) == 2


async def test_without_tools_no_tool_message_goes_out(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    await collect(llm, replace(asked, tools=()))
    assert "tools" not in ms.last.body
    assert ms.last.reading.tool_results == ()
    assert "it says A" in str(ms.last.body)
    assert "too late" not in str(ms.last.body)


async def test_an_interrupted_call_is_dropped(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    ms.script(Script(calls=tuple(tool_call(each) for each in CALLS), fault="truncate", fault_after=2))
    ms.call_tools(CALLS, finish="length")
    ms.call_tools(CALLS, finish="content_filter")
    ends = [(await collect(llm, asked))[1] for _ in range(3)]
    assert [end.finish for end in ends] == ["cut", "length", "policy"]
    assert [end.calls for end in ends] == [()] * 3


async def test_arguments_reach_the_tool_as_the_model_wrote_them(llm: LiteLlm, ms: ModelServer) -> None:
    for wire in ("chat", "claude"):
        ms.call_tools([("files_read", '{"path": oops')])
        request = over(ms, wire, ChatMessage("user", "hi"))
        _, end = await collect(llm, request)
        assert (end.finish, end.calls[0].arguments) == ("tools", '{"path": oops')
        await collect(llm, goes_on(request, "", end))
        assert "_raw" in str(ms.last.body)


async def test_an_abandoned_stream_is_closed_at_the_provider(llm: LiteLlm, ms: ModelServer, asked: Request) -> None:
    ms.reply("one two three four five six seven eight", delay=60.0)
    events = llm.stream(asked)
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()
    assert await ms.last.finished() == "cut"


PROBE = """
import asyncio, sys, time
from pathlib import Path
from routing.types.llm import ChatMessage, ModelRequest, ProviderProfile, ToolSpec
from routing.catalog.catalog import BUNDLED, Catalog
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime

async def main(addresses):
    tools = (ToolSpec("a", "d", {}),)
    llm = LiteLlm(LocalRuntime(Path(sys.argv[1])), Catalog.load(BUNDLED))
    for model, kind, address in addresses:
        where = ProviderProfile(kind, kind, address, "sk-mine", 30.0, "X")
        request = ModelRequest("balanced", model, (ChatMessage("user", "hi"),), where, None, None, tools)
        assert [event async for event in llm.stream(request)][-1].finish == "stop", model
    print([name for name in sys.modules if name.split(".")[0] == "mcp"])

asyncio.run(main([line.split() for line in sys.argv[2:]]))
"""


async def test_a_call_with_tools_does_not_import_mcp(ms: ModelServer, tmp_path: Path) -> None:
    """In a separate process: another test may have imported it here."""
    lines = [
        f"{model} {kind} {base(ms, kind)}" for model, kind, _ in (WIRES["chat"], WIRES["claude"], WIRES["gemini 3"])
    ]
    command = [sys.executable, "-W", "ignore", "-c", PROBE, str(tmp_path), *lines]
    process = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60, check=False)
    assert (process.returncode, process.stdout.strip()) == (0, "[]"), process.stderr
    assert len(ms.calls) == 3
    assert all(call.reading.tool_names == ("a",) for call in ms.calls)

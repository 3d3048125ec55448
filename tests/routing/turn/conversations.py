"""A conversation with tools, and the wire formats it is tested with."""

from dataclasses import replace
from typing import Any

from routing.llm.adapter import LiteLlm
from routing.types.llm import (
    ApiType,
    ChatMessage,
    ProviderProfile,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolSpec,
)
from routing.types.llm import ModelRequest as Request
from tests.servers.model import ModelServer
from tests.servers.model.scripting import Call

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
"""Model, API, reasoning. The bridge to /responses is used only at OpenAI's official address."""

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
out of order, one without a call, one missing, thinking that no other provider can verify."""


def over(ms: ModelServer, wire: str, *messages: ChatMessage, **more: Any) -> Request:
    model, kind, reasoning = WIRES[wire]
    where = profile(model.partition("/")[0], kind, base(ms, kind))
    request = Request("balanced", model, messages or HISTORY, where, reasoning, None, TOOLS)
    return replace(request, **more)


async def collect(llm: LiteLlm, request: Request) -> tuple[list[StreamEvent], StreamEnd]:
    events = [event async for event in llm.stream(request)]
    end = events.pop()
    assert isinstance(end, StreamEnd)
    return events, end


def text(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def goes_on(request: Request, said: str, end: StreamEnd) -> Request:
    """The next call of the same turn: the stored answer, and a result for each call."""
    answer = ChatMessage("assistant", said, calls=end.calls, made_by=request.model, thinking=end.thinking)
    results = [ChatMessage("tool", f"result {n}", call_id=each.id, tool=each.name) for n, each in enumerate(end.calls)]
    return replace(request, messages=(*request.messages, answer, *results))


CALLS: list[Call] = [("files_read", {"path": "d"}), ("weather", {})]


def base(ms: ModelServer, api_type: ApiType, vendor: str = "") -> str:
    root = ms.vendor(vendor) if vendor else ms.root
    return {"openai": f"{root}/v1", "anthropic": root, "gemini": f"{root}/v1beta"}[api_type]


def profile(name: str, api_type: ApiType | None, base_url: str | None, key: str | None = "sk-mine") -> ProviderProfile:
    return ProviderProfile(name, api_type, base_url, key, 30.0, f"{name.upper()}_API_KEY")

"""A conversation with names and ids that only its first provider accepts, and its form in each wire format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from routing.types.llm import ApiType, ChatMessage, ToolCall
from storage.codec import CALLS
from tests.independent.process import Program, Sent
from tests.servers.model.checks import violations
from tests.servers.model.readings import either, text_of
from tests.servers.model.request import ModelRequest, target
from tests.stories.harness import BotHarness

FIRST, SECOND = (f"mars:call/{'0' * 40}=={end}" for end in ("alpha.01", "gamma.02"))
"""60 characters, with illegal ones, and equal in the first 52."""
LEGAL = "call_legal-1"
LONG_NAME = "look." + "x" * 95
FOREIGN = '[{"type": "thinking", "thinking": "foreign thought", "signature": "foreign signature"}]'


def asks(*calls: ToolCall, text: str = "") -> ChatMessage:
    return ChatMessage("assistant", text, calls=calls, made_by="mars/x", thinking=FOREIGN)


HISTORY = (
    ChatMessage("user", "What is new?"),
    asks(
        ToolCall(FIRST, "web.search/v2", '{"q": "a"}', "foreign signature"),
        ToolCall(SECOND, "", "not json"),
        text="Looking.",
    ),
    ChatMessage("tool", "nothing there", call_id=SECOND, tool=""),
    ChatMessage("tool", "a is new", call_id=FIRST, tool="web.search/v2"),
    asks(ToolCall(LEGAL, LONG_NAME, "{}")),
    ChatMessage("tool", "the view", call_id=LEGAL, tool=LONG_NAME),
    ChatMessage("assistant", "a is new, and b.", made_by="mars/x"),
    ChatMessage("user", "And c?"),
    asks(ToolCall(FIRST[::-1], "web.search/v2", '{"q": "c"}')),
)
"""Results out of order, a call without a tool name and with invalid JSON arguments, and at the end a call whose turn
was interrupted."""
RESULTS = ["a is new", "nothing there", "the view", "[no result: the turn was interrupted]"]


@dataclass(frozen=True, slots=True)
class Round:
    """A call in a request, and the result that follows it under the same id."""

    id: str
    name: str
    arguments: Any
    result: str


KINDS: tuple[ApiType, ...] = ("openai", "anthropic", "gemini")


@dataclass(frozen=True, slots=True)
class Station:
    """A model with which a conversation continues."""

    kind: ApiType
    model: str


STATIONS = (
    Station("openai", "openai/gpt-5.1"),
    Station("anthropic", "anthropic/claude-opus-4-7"),
    Station("gemini", "gemini/gemini-2.5-flash"),
    Station("gemini", "gemini/gemini-3.5-flash"),
)
BUDGET = Station("anthropic", "anthropic/claude-haiku-4-5")
"""A Claude with a thinking budget."""


def point_providers_at(on: BotHarness, party: Program) -> None:
    """Point all three providers at the stand-in."""
    on.config["llm"] = {
        "providers": {
            kind: {"apiType": kind, "baseUrl": party.base(kind), "apiKey": f"sk-{kind}-000000000000"} for kind in KINDS
        }
    }


def begin(on: BotHarness) -> list[tuple[object, ...]]:
    """Write the conversation into the database; returns the rows."""
    ((conversation,),) = on.rows("SELECT id FROM conversations")
    ((person,),) = on.rows("SELECT id FROM people")
    for at, message in enumerate(HISTORY):
        on.change(
            "INSERT INTO messages (conversation_id, person_id, turn_id, at, role, text, pictures, calls, model,"
            " thinking, call_id, tool) VALUES (?, ?, 'mars', ?, ?, ?, '[]', ?, ?, ?, ?, ?)",
            conversation, person, float(at), message.role, message.text,
            CALLS.dump(message.calls) if message.calls else "", message.made_by, message.thinking, message.call_id,
            message.tool,
        )  # fmt: skip
    return stored(on)


def stored(on: BotHarness) -> list[tuple[object, ...]]:
    """The rows of the conversation with every column."""
    return on.rows("SELECT * FROM messages WHERE turn_id = 'mars' ORDER BY id")


def provider_faults(sent: Sent) -> list[str]:
    """Our checks of a recorded body: what a real provider would refuse."""
    request = ModelRequest(0, 0.0, "POST", sent.path, {"anthropic-version": "not kept"}, {}, _to(sent), body=sent.body)
    return violations(request)


def turns(sent: Sent) -> list[tuple[str, str]]:
    """Role and text of each turn, in order."""
    return list(ModelRequest(0, 0.0, "POST", sent.path, {}, {}, _to(sent), body=sent.body).reading.turns)


def _to(sent: Sent) -> Any:
    return target("POST", sent.path.partition("?")[0], {"alt": "sse"}, {})


def rounds(kind: ApiType, body: dict[str, Any]) -> list[Round]:
    """Every call of a body with its result, which must be in the next message or messages."""
    return list({"openai": _chat, "anthropic": _messages, "gemini": _generate}[kind](body))


def _chat(body: dict[str, Any]) -> Iterator[Round]:
    messages = body["messages"]
    for at, message in enumerate(messages):
        calls = message.get("tool_calls") or ()
        results = messages[at + 1 : at + 1 + len(calls)]
        for call, result in zip(calls, results, strict=True):
            assert (result["role"], result["tool_call_id"]) == ("tool", call["id"])
            function = call["function"]
            yield Round(call["id"], function["name"], json.loads(function["arguments"]), text_of(result["content"]))


def _messages(body: dict[str, Any]) -> Iterator[Round]:
    messages = body["messages"]
    for at, message in enumerate(messages):
        calls = _of(message["content"], "tool_use")
        results = _of(messages[at + 1]["content"], "tool_result") if calls else []
        for call, result in zip(calls, results, strict=True):
            assert result["tool_use_id"] == call["id"]
            yield Round(call["id"], call["name"], call["input"], text_of(result["content"]))


def _of(content: Any, kind: str) -> list[dict[str, Any]]:
    return [block for block in content if block["type"] == kind] if isinstance(content, list) else []


def _generate(body: dict[str, Any]) -> Iterator[Round]:
    contents = body["contents"]
    for at, content in enumerate(contents):
        calls = [call for part in content["parts"] if (call := either(part, "functionCall", "function_call"))]
        behind = contents[at + 1]["parts"] if calls else []
        results = [each for part in behind if (each := either(part, "functionResponse", "function_response"))]
        for call, result in zip(calls, results, strict=True):
            assert (result["name"], result.get("id")) == (call["name"], call.get("id"))
            yield Round(call.get("id", ""), call["name"], call["args"], str(result["response"]))

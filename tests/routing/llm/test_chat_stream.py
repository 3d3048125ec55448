"""Streams as providers send them: calls are complete or dropped, and thinking never becomes text."""

import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from routing.llm.streaming.chat_stream import RawReader
from routing.llm.streaming.responses_stream import ResponsesReader
from routing.llm.streaming.stream_parser import BrokenStream, Reader
from routing.types.llm import CallDelta, StreamEvent, TextDelta, ThinkingDelta


class Body:
    """An HTTP response whose body is these bytes, in pieces of seven."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.closed = False

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), 7):
            yield self._body[at : at + 7]

    async def aclose(self) -> None:
        self.closed = True


def body(events: list[Any], end: bytes = b"data: [DONE]\n\n") -> Body:
    return Body(b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events) + end)


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index: int | None = 0, given: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    whole = {"index": index, "id": given, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in whole.items() if value is not None}


async def raw(*events: dict[str, Any], end: bytes = b"data: [DONE]\n\n") -> tuple[RawReader, list[StreamEvent]]:
    reader = RawReader(SimpleNamespace(completion_stream=SimpleNamespace(response=body(list(events), end))))
    return reader, [event async for event in reader]


def calls(reader: Reader) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reader.calls]


WEATHER = ("a", "weather", '{"city": "Kyiv"}')
SHAPES: dict[str, tuple[list[list[Any]], list[tuple[str, str, str]]]] = {
    "in pieces": (
        [[piece(0, "a", "weather", "")], [piece(0, None, None, '{"city": ')], [piece(0, None, None, '"Kyiv"}')]],
        [WEATHER],
    ),
    "at once": ([[piece(0, *WEATHER)]], [WEATHER]),
    "as an object": ([[piece(0, "a", "weather", {"city": "Kyiv"})]], [WEATHER]),
    "late id and name": ([[piece(0, None, None, '{"city": ')], [piece(0, "a", "weather", '"Kyiv"}')]], [WEATHER]),
    "all in every piece": ([[piece(0, "a", "weather", '{"city": ')], [piece(0, "a", "weather", '"Kyiv"}')]], [WEATHER]),
    "another id in a later piece": ([[piece(0, *WEATHER)], [piece(0, "z", None, "")]], [WEATHER]),
    "side by side": (
        [[piece(0, "a", "x", ""), piece(1, "b", "y", "")], [piece(1, None, None, "{}")], [piece(0, None, None, "[]")]],
        [("a", "x", "[]"), ("b", "y", "{}")],
    ),
    "one index for all": ([[piece(0, "a", "x", "{}")], [piece(0, "b", "x", "{")], [piece(0, None, None, "}")]],
                          [("a", "x", "{}"), ("b", "x", "{}")]),
    "ids without indexes": (
        [[piece(None, "a", "x", "{"), piece(None, "b", "y", "{}")], [piece(None, "a", None, "}")]],
        [("a", "x", "{}"), ("b", "y", "{}")],
    ),
    "no arguments": ([[piece(0, "a", "x")]], [("a", "x", "")]),
    "not JSON": ([[piece(0, "a", "x", "{oops")]], [("a", "x", "{oops")]),
    "no name": ([[piece(0, "a", None, "{}")]], [("a", "", "{}")]),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "function_call"])
async def test_tool_call_delta_formats(shape: str, reason: str) -> None:
    deltas, expected = SHAPES[shape]
    reader, events = await raw(*[chunk(tool_calls=delta) for delta in deltas], chunk(reason))
    assert (calls(reader), reader.finish) == (expected, "tools")
    assert events == [CallDelta() for delta in deltas for _ in delta], "each is a sign of life"


async def test_missing_ids_are_generated_uniquely() -> None:
    pieces = [piece(None, None, "x", "{"), piece(None, None, "x", "}"), piece(None, None, "x", "{}")]
    seen = set()
    for _ in range(2):
        reader, _ = await raw(chunk(tool_calls=pieces), chunk("tool_calls"))
        assert [call[1:] for call in calls(reader)] == [("x", "{}"), ("x", "{}")]
        seen |= {call[0] for call in calls(reader)}
    assert len(seen) == 4
    assert all(len(given) <= 40 for given in seen)
    double, _ = await raw(chunk(tool_calls=[piece(0, "a", "x"), piece(1, "a", "y")]), chunk("stop"))
    assert len({call[0] for call in calls(double)}) == 2


@pytest.mark.parametrize(("reason", "finish"), [("length", "length"), ("content_filter", "policy"), (None, "cut")])
async def test_an_incomplete_call_is_dropped(reason: str | None, finish: str) -> None:
    reader, _ = await raw(chunk(content="I"), chunk(tool_calls=[piece(0, *WEATHER)]), chunk(reason), end=b"")
    assert (reader.finish, reader.calls, reader.thinking) == (finish, (), "")


async def test_a_tool_calls_finish_without_calls_is_a_stop() -> None:
    reader, _ = await raw(chunk("tool_calls", content="hm"))
    assert (reader.finish, reader.calls) == ("stop", ())


async def test_thinking_is_kept_for_its_provider_and_not_shown() -> None:
    detail = {"type": "reasoning.text", "index": 0, "format": None}
    reader, events = await raw(
        chunk(reasoning_content="let me"), chunk(reasoning_content=" see"), chunk(reasoning="hm"),
        chunk(reasoning_details=[detail | {"text": "a"}]), chunk(reasoning_details=[detail | {"text": "b"}]),
        chunk(reasoning_details=[detail | {"signature": "s"}]), chunk(content="Looking."),
        chunk("tool_calls", tool_calls=[piece(0, *WEATHER)]),
    )  # fmt: skip
    assert events == [ThinkingDelta()] * 6 + [TextDelta("Looking."), CallDelta()]
    assert json.loads(reader.thinking) == [
        {"type": "reasoning_content", "text": "let me see"},
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
    ]
    plain, _ = await raw(chunk(reasoning_content="let me"), chunk("stop", content="42"))
    assert plain.thinking == "", "an answer is not given back with its thinking"


async def test_signatures_are_extracted_from_ids_and_extras() -> None:
    extra = piece(0, "a", "x") | {"extra_content": {"google": {"thought_signature": "s0"}}}
    fields = piece(2, "c", "z") | {"provider_specific_fields": {"thought_signature": "s2"}}
    reader, _ = await raw(chunk("stop", tool_calls=[extra, piece(1, "b__thought__s1==", "y"), fields]))
    assert [(call.id, call.signature) for call in reader.calls] == [("a", "s0"), ("b", "s1=="), ("c", "s2")]


async def test_an_error_event_is_raised() -> None:
    with pytest.raises(BrokenStream) as broken:
        await raw(chunk(content="I"), {"error": {"message": "overloaded"}})
    assert broken.value.message == "overloaded"


def item(**fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": fields}


CALL = item(type="function_call", id="fc_1", call_id="call_7", name="weather", arguments='{"city": "Kyiv"}')
REASONING = item(type="reasoning", id="rs_1", encrypted_content="e", summary=[{"type": "summary_text", "text": "t"}])
USAGE = {
    "input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
    "input_tokens_details": {"cached_tokens": 60}, "output_tokens_details": {"reasoning_tokens": 5},
}  # fmt: skip


async def responses(*events: dict[str, Any]) -> tuple[ResponsesReader, list[StreamEvent]]:
    reader = ResponsesReader(body(list(events), end=b""))
    return reader, [event async for event in reader]


def ended(status: str = "completed", reason: str | None = None) -> dict[str, Any]:
    response = {"status": status, "incomplete_details": {"reason": reason} if reason else None, "usage": USAGE}
    return {"type": f"response.{status}", "response": response}


async def test_responses() -> None:
    reader, events = await responses(
        {"type": "response.created", "response": {}},
        {"type": "response.reasoning_summary_text.delta", "delta": "t"}, REASONING,
        {"type": "response.output_text.delta", "delta": "Looking."},
        {"type": "response.function_call_arguments.delta", "delta": '{"city"'}, CALL, ended(),
    )  # fmt: skip
    assert events == [ThinkingDelta(), TextDelta("Looking."), CallDelta()]
    assert calls(reader) == [("call_7", "weather", '{"city": "Kyiv"}')]
    assert reader.finish == "tools"
    assert json.loads(reader.thinking) == [
        {key: REASONING["item"][key] for key in ("type", "encrypted_content", "summary")}
    ]
    assert reader.usage["prompt_tokens"] == 100
    assert reader.usage["prompt_tokens_details"] == {"cached_tokens": 60}
    assert reader.usage["completion_tokens_details"] == {"reasoning_tokens": 5}
    refused, events = await responses({"type": "response.refusal.delta", "delta": "No."}, ended())
    assert events == [TextDelta("No.")]
    assert refused.finish == "stop"


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "policy")])
async def test_incomplete_responses_call_no_tool(reason: str, finish: str) -> None:
    reader, _ = await responses(CALL, ended("incomplete", reason))
    assert (reader.finish, reader.calls, reader.usage["total_tokens"]) == (finish, (), 120)
    cut, _ = await responses(CALL)
    assert (cut.finish, cut.calls) == ("cut", ())


FAILED = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "overloaded"}}}


@pytest.mark.parametrize("event", [FAILED, {"type": "error", "code": "x", "message": "overloaded"}])
async def test_responses_that_fail(event: dict[str, Any]) -> None:
    with pytest.raises(BrokenStream) as broken:
        await responses({"type": "response.output_text.delta", "delta": "I"}, event)
    assert broken.value.message == "overloaded"


async def test_a_finished_stream_releases_its_connection() -> None:
    held = body([])
    await ResponsesReader(held).aclose()
    assert held.closed

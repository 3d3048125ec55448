"""The loopback model provider keeps its promises: scripts, faults, gates, journal, outage, control."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer

ROOT = Path(__file__).resolve().parents[2]
WIRES = ("chat", "responses", "messages", "generate")
KEY = "sk-test"


@pytest.fixture
async def ms() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
        yield http


def ask(ms: ModelServer, wire: str, text: str = "hi", *, stream: bool = True, **more: Any) -> dict[str, Any]:
    """The arguments of an httpx request that says `text` over that wire."""
    turn = {"role": "user", "content": text}
    bearer = {"authorization": f"Bearer {KEY}"}
    if wire == "chat":
        options = {"stream_options": {"include_usage": True}} if stream else {}
        body = {"model": "gpt-4o-mini", "messages": [turn], "stream": stream, **options, **more}
        return {"method": "POST", "url": f"{ms.openai_base}/chat/completions", "json": body, "headers": bearer}
    if wire == "responses":
        body = {"model": "gpt-5.2-codex", "input": [turn], "stream": stream, **more}
        body["input"] = [{"role": "user", "content": [{"type": "input_text", "text": text}]}]
        return {"method": "POST", "url": f"{ms.openai_base}/responses", "json": body, "headers": bearer}
    if wire == "messages":
        headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
        body = {"model": "claude-haiku-4-5", "messages": [turn], "max_tokens": 500, "stream": stream, **more}
        return {"method": "POST", "url": f"{ms.root}/v1/messages", "json": body, "headers": headers}
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}
    url = f"{ms.gemini_base}/models/gemini-2.5-flash:{verb}"
    return {"method": "POST", "url": url, "json": body, "headers": {"x-goog-api-key": KEY}}


def events(text: str) -> list[dict[str, Any]]:
    """The JSON of every server-sent event, without OpenAI's end mark."""
    found = re.findall(r"^data: (.*)$", text, re.MULTILINE)
    return [json.loads(each) for each in found if each != "[DONE]"]


def said(wire: str, answer: dict[str, Any]) -> str:
    """The text in a whole answer."""
    if wire == "chat":
        return str(answer["choices"][0]["message"]["content"] or "")
    if wire == "responses":
        messages = [item for item in answer["output"] if item["type"] == "message"]
        return "".join(part["text"] for item in messages for part in item["content"])
    if wire == "messages":
        return "".join(block.get("text", "") for block in answer["content"])
    parts = answer["candidates"][0]["content"].get("parts", [])
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def streamed(wire: str, chunks: list[dict[str, Any]]) -> str:
    """The text in a stream's events."""
    if wire == "chat":
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        return "".join(delta.get("content") or "" for delta in deltas)
    if wire == "responses":
        return "".join(each["delta"] for each in chunks if each["type"] == "response.output_text.delta")
    if wire == "messages":
        return "".join(each.get("delta", {}).get("text", "") for each in chunks)
    return "".join(said(wire, each) for each in chunks)


def finish(wire: str, answer: dict[str, Any]) -> str | None:
    """The finish reason of a whole answer, or of the event that carries it."""
    found: str | None
    if wire == "chat":
        found = answer["choices"][0]["finish_reason"] if answer["choices"] else None
    elif wire == "responses":
        answer = answer.get("response", answer)
        found = (answer.get("incomplete_details") or {}).get("reason") or answer.get("status")
    elif wire == "messages":
        found = answer.get("delta", answer).get("stop_reason")
    else:
        found = answer["candidates"][0].get("finishReason")
    return found


@pytest.mark.parametrize("wire", WIRES)
async def test_the_default_is_an_echo_streamed_and_whole(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    whole = await client.request(**ask(ms, wire, "grüße 🙂", stream=False))
    stream = await client.request(**ask(ms, wire, "grüße 🙂"))
    assert said(wire, whole.json()) == streamed(wire, events(stream.text)) == "You said: grüße 🙂"
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [call.outcome for call in ms.calls] == ["completed", "completed"]
    assert [call.stream for call in ms.calls] == [False, True]
    assert ms.last.last_user_text == "grüße 🙂" and ms.last.key == KEY


@pytest.mark.parametrize(
    ("wire", "ends"),
    [
        ("chat", ["stop", "length", "tool_calls", "stop"]),
        ("responses", ["completed", "max_output_tokens", "completed", "completed"]),
        ("messages", ["end_turn", "max_tokens", "tool_use", "end_turn"]),
        ("generate", ["STOP", "MAX_TOKENS", "STOP", "STOP"]),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_finish_reasons(
    ms: ModelServer, client: httpx.AsyncClient, wire: str, ends: list[str], stream: bool
) -> None:
    ms.reply("fine")
    ms.length_cut("too long to")
    ms.call_tools([("weather", {"city": "Kyiv"})])
    ms.empty()
    texts, found = [], []
    for _ in ends:
        got = await client.request(**ask(ms, wire, stream=stream))
        chunks = events(got.text) if stream else [got.json()]
        texts.append(streamed(wire, chunks) if stream else said(wire, chunks[0]))
        found.append([end for each in chunks if (end := finish(wire, each))][-1])
    assert texts == ["fine", "too long to", "", ""]
    assert found == ends


async def test_tool_calls_on_every_wire(ms: ModelServer, client: httpx.AsyncClient) -> None:
    calls = [("read_file", {"path": "a.py"}), ("shell", '{"broken', "call_own")]
    ms.call_tools(calls, text="Looking.", times=None)  # type: ignore[arg-type]
    chat = (await client.request(**ask(ms, "chat", stream=False))).json()["choices"][0]["message"]
    assert chat["content"] == "Looking."
    assert [call["function"]["arguments"] for call in chat["tool_calls"]] == ['{"path": "a.py"}', '{"broken']
    assert chat["tool_calls"][1]["id"] == "call_own"
    deltas = [
        delta
        for chunk in events((await client.request(**ask(ms, "chat"))).text)
        for choice in chunk["choices"]
        for delta in choice["delta"].get("tool_calls", ())
    ]
    joined = ["".join(d["function"]["arguments"] for d in deltas if d["index"] == i) for i in (0, 1)]
    assert joined == ['{"path": "a.py"}', '{"broken']
    assert [d["function"]["name"] for d in deltas if "id" in d] == ["read_file", "shell"]
    answer = (await client.request(**ask(ms, "responses", stream=False))).json()
    assert [item["type"] for item in answer["output"]] == ["message", "function_call", "function_call"]
    claude = (await client.request(**ask(ms, "messages", stream=False))).json()
    assert [block.get("input") for block in claude["content"]] == [None, {"path": "a.py"}, {"raw": '{"broken'}]
    partial = events((await client.request(**ask(ms, "messages"))).text)
    assert "".join(e.get("delta", {}).get("partial_json", "") for e in partial) == '{"path": "a.py"}{"broken'
    gemini = (await client.request(**ask(ms, "generate", stream=False))).json()
    parts = gemini["candidates"][0]["content"]["parts"]
    assert parts[1]["functionCall"] == {"name": "read_file", "args": {"path": "a.py"}}


async def test_thinking_on_every_wire(ms: ModelServer, client: httpx.AsyncClient) -> None:
    ms.reasoning("Let me see", then="42", times=None)
    got = {wire: events((await client.request(**ask(ms, wire))).text) for wire in WIRES}
    deltas = [choice["delta"] for chunk in got["chat"] for choice in chunk["choices"]]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Let me see"
    summary = [e["delta"] for e in got["responses"] if e["type"] == "response.reasoning_summary_text.delta"]
    assert "".join(summary) == "Let me see"
    blocks = [each.get("delta", {}) for each in got["messages"]]
    assert "".join(block.get("thinking", "") for block in blocks) == "Let me see"
    assert any(block.get("signature") for block in blocks)
    parts = [p for e in got["generate"] for p in e["candidates"][0]["content"]["parts"] if p.get("thought")]
    assert "".join(part["text"] for part in parts) == "Let me see"
    assert [streamed(wire, got[wire]) for wire in WIRES] == ["42"] * 4


async def test_usage_as_told_estimated_and_absent(ms: ModelServer, client: httpx.AsyncClient) -> None:
    for _ in WIRES:
        ms.reply("ok", usage=(100, 20, 60, 5))
    got = [(await client.request(**ask(ms, wire, stream=False))).json() for wire in WIRES]
    assert got[0]["usage"]["prompt_tokens_details"]["cached_tokens"] == 60
    assert got[1]["usage"]["output_tokens_details"]["reasoning_tokens"] == 5
    assert got[2]["usage"]["input_tokens"] == 40 and got[2]["usage"]["cache_read_input_tokens"] == 60
    assert got[3]["usageMetadata"]["candidatesTokenCount"] == 15
    ms.reply("ok", usage=None)
    assert "usage" not in (await client.request(**ask(ms, "chat", stream=False))).json()
    assert events((await client.request(**ask(ms, "chat"))).text)[-1]["usage"]["prompt_tokens"] > 0
    plain = await client.request(**ask(ms, "chat", stream_options=None))
    assert all("usage" not in chunk for chunk in events(plain.text))


@pytest.mark.parametrize("wire", WIRES)
async def test_failures_in_the_provider_s_form(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    ms.fail(429, retry_after=3)
    ms.fail(400, code="context_length_exceeded")
    limited, long = [await client.request(**ask(ms, wire)) for _ in range(2)]
    assert limited.status_code == 429 and limited.headers["retry-after"] == "3"
    kinds = {"messages": ("type", "rate_limit_error"), "generate": ("status", "RESOURCE_EXHAUSTED")}
    field, value = kinds.get(wire, ("code", "rate_limit_exceeded"))
    assert limited.json()["error"][field] == value
    assert long.status_code == 400 and "maximum context length" in long.json()["error"]["message"]
    assert [call.outcome for call in ms.calls] == ["faulted", "faulted"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_truncated_stream_ends_without_a_finish_reason(
    ms: ModelServer, client: httpx.AsyncClient, wire: str
) -> None:
    ms.truncate(after_chunks=2, text="abcdefgh")
    got = await client.request(**ask(ms, wire))
    chunks = events(got.text)
    assert streamed(wire, chunks) == "ab" and "[DONE]" not in got.text
    assert not any(finish(wire, each) not in (None, "in_progress") for each in chunks)
    ms.truncate(abrupt=True)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.request(**ask(ms, wire))
    ms.truncate()
    with pytest.raises(httpx.RemoteProtocolError):
        await client.request(**ask(ms, wire, stream=False))
    assert [(call.outcome, call.status) for call in ms.calls] == [("faulted", 200)] * 3


@pytest.mark.parametrize("wire", WIRES)
async def test_reset_garbage_and_a_broken_stream(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    ms.reset()
    with pytest.raises(httpx.ReadError):
        await client.request(**ask(ms, wire))
    ms.garbage()
    with pytest.raises(json.JSONDecodeError):
        events((await client.request(**ask(ms, wire))).text)
    ms.break_stream(529, after_chunks=1, text="abcdefgh")
    chunks = events((await client.request(**ask(ms, wire))).text)
    assert "verloaded" in json.dumps(chunks[-1]) and streamed(wire, chunks[:-1]) == "a"
    ms.garbage()
    with pytest.raises(json.JSONDecodeError):
        (await client.request(**ask(ms, wire, stream=False))).json()


async def test_a_gate_before_the_headers(ms: ModelServer, client: httpx.AsyncClient) -> None:
    gate = ms.gate()
    answer = asyncio.create_task(client.request(**ask(ms, "chat", "wait", stream=False)))
    request = await gate.reached()
    assert request is ms.last and request.outcome == "pending" and not answer.done()
    gate.open()
    assert said("chat", (await answer).json()) == "You said: wait"
    assert await request.finished() == "completed"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_gate_in_mid_stream(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    gate = ms.reply("abcde", chunks=5, gate_after=2)
    async with client.stream(**ask(ms, wire)) as answer:
        lines = answer.aiter_lines()
        request = await gate.reached()
        before: list[dict[str, Any]] = []
        while streamed(wire, before) != "ab":
            before += events(await anext(lines))
        assert request.chunks_sent == 2
        gate.open()
        rest = [each async for line in lines for each in events(line)]
    assert streamed(wire, before + rest) == "abcde"


async def test_a_client_that_leaves_is_seen(ms: ModelServer, client: httpx.AsyncClient) -> None:
    gates = [ms.reply("abc", gate_after=1), ms.hang(600), ms.gate()]
    for number, _ in enumerate(gates):
        answer = asyncio.create_task(client.request(**ask(ms, "chat")))
        call = (await ms.wait_requests(number + 1))[-1]
        if number == 0:
            await gates[0].reached()
        answer.cancel()
        assert await call.finished() == "cut"
    assert not ms.pending


async def test_scripts_are_first_in_first_out_and_wait_for_their_request(
    ms: ModelServer, client: httpx.AsyncClient
) -> None:
    ms.reply("for the second", when=lambda request: "two" in request.last_user_text)
    ms.reply("first", times=2)
    ms.reply("gemini only", when=lambda request: request.provider == "gemini")
    words = ("one", "two", "three", "four")
    texts = [said("chat", (await client.request(**ask(ms, "chat", word, stream=False))).json()) for word in words]
    assert texts == ["first", "for the second", "first", "You said: four"]
    assert len(ms.pending) == 1
    ms.clear()
    ms.default = lambda request: f"{request.model} here"
    answer = await client.request(**ask(ms, "generate", stream=False))
    assert said("generate", answer.json()) == "gemini-2.5-flash here"
    assert len(ms.for_model("gpt-4o-mini")) == 4 and not ms.pending


async def test_an_outage_is_a_dead_host_on_the_same_port(ms: ModelServer, client: httpx.AsyncClient) -> None:
    ms.gate()
    hanging = asyncio.create_task(client.request(**ask(ms, "chat")))
    [held] = await ms.wait_requests(1)
    async with ms.outage():
        with pytest.raises(httpx.HTTPError):
            await hanging
        with pytest.raises(httpx.ConnectError):
            await client.request(**ask(ms, "chat"))
    assert held.outcome == "stopped"
    assert (await client.request(**ask(ms, "chat"))).status_code == 200
    assert len(ms.calls) == 2


async def test_models_are_listed_in_three_forms(ms: ModelServer, client: httpx.AsyncClient) -> None:
    bearer = {"authorization": f"Bearer {KEY}"}
    plain = (await client.get(f"{ms.openai_base}/models", headers=bearer)).json()
    assert plain["object"] == "list" and plain["data"][0]["id"] == "gpt-5.1"
    version = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    claude = (await client.get(f"{ms.root}/v1/models", headers=version)).json()
    assert claude["has_more"] is False and claude["data"][0]["display_name"] == "Claude Opus 4 5"
    gemini = (await client.get(f"{ms.gemini_base}/models", params={"key": KEY})).json()["models"]
    assert gemini[0]["name"] == "models/gemini-2.5-pro"
    assert [m["name"] for m in gemini if "generateContent" not in m["supportedGenerationMethods"]]
    assert ms.calls == [] and [entry.endpoint for entry in ms.journal] == ["models"] * 3


async def test_keys_models_paths_and_vendors(ms: ModelServer, client: httpx.AsyncClient) -> None:
    ms.bad_keys.add("sk-bad")
    ms.missing_models.add("gpt-4o-mini")
    url = f"{ms.openai_base}/models"
    statuses = [
        (await client.get(url)).status_code,
        (await client.get(url, headers={"authorization": "Bearer"})).status_code,
        (await client.get(url, headers={"authorization": "Bearer sk-bad"})).status_code,
        (await client.request(**ask(ms, "chat"))).status_code,
        (await client.post(f"{ms.root}/chat/completions", json={})).status_code,
    ]
    assert statuses == [401, 401, 401, 404, 404]
    asked = ask(ms, "chat", model="llama")
    answer = await client.request(**{**asked, "url": f"{ms.vendor('acme')}/v1/chat/completions"})
    assert answer.status_code == 200 and ms.last.vendor == "acme" and ms.last.model == "llama"


async def test_by_hand_and_from_another_process(client: httpx.AsyncClient) -> None:
    words = ("-m", "tests.servers.model", "--port", "0", "--text", "by hand", "--chunks", "2")
    process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        root = (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()
        other = ModelServer(int(root.rpartition(":")[2]))
        assert streamed("chat", events((await client.request(**ask(other, "chat"))).text)) == "by hand"
        line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        assert line == "#1 openai/chat gpt-4o-mini stream → 200 completed\n"
        await _control_it(client, root, other)
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


async def _control_it(client: httpx.AsyncClient, root: str, other: ModelServer) -> None:
    async def control(action: str, **given: Any) -> dict[str, Any]:
        answer = await client.post(f"{root}/control/{action}", json=given)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    when = {"user_contains": "hard"}
    held = await control("script", kind="reply", text="told", usage=[1, 2], gate_after=0, when=when)
    answer = asyncio.create_task(client.request(**ask(other, "chat", "hard one", stream=False)))
    await control("open", **held)
    assert said("chat", (await answer).json()) == "told"
    await control("script", kind="fail", status=503)
    assert (await client.request(**ask(other, "messages"))).status_code == 503
    state = (await client.get(f"{root}/control/state")).json()
    assert state == {"seen": 3, "outcomes": {"completed": 2, "faulted": 1}, "scripts": 0}
    journal = (await client.get(f"{root}/control/journal", params={"since": 2})).json()["journal"]
    assert [entry["endpoint"] for entry in journal] == ["messages"]
    refused = await client.post(f"{root}/control/script", json={"kind": "joke"})
    assert refused.status_code == 400 and "joke" in refused.json()["error"]
    await control("reset")
    assert (await client.get(f"{root}/control/journal")).json() == {"journal": []}

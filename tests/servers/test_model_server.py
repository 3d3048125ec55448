"""The loopback provider's answers in each wire format, its scripts, journal and control interface."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer
from tests.servers.model.client import KEY, WIRES, answer_text, ask, events, finish, streamed
from tests.servers.model.scripting import Call

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("wire", WIRES)
async def test_the_default_answer_is_an_echo(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    whole = await client.request(**ask(ms, wire, "grüße 🙂", stream=False))
    stream = await client.request(**ask(ms, wire, "grüße 🙂"))
    assert answer_text(wire, whole.json()) == streamed(wire, events(stream.text)) == "You said: grüße 🙂"
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [call.outcome for call in ms.calls] == ["completed", "completed"]
    assert [call.stream for call in ms.calls] == [False, True]
    assert ms.last.last_user_text == "grüße 🙂"
    assert ms.last.key == KEY


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
        texts.append(streamed(wire, chunks) if stream else answer_text(wire, chunks[0]))
        found.append([end for each in chunks if (end := finish(wire, each))][-1])
    assert texts == ["fine", "too long to", "", ""]
    assert found == ends


async def test_tool_calls_on_every_wire(ms: ModelServer, client: httpx.AsyncClient) -> None:
    calls: list[Call] = [("read_file", {"path": "a.py"}), ("shell", '{"broken', "call_own")]
    ms.call_tools(calls, text="Looking.", times=None)
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


async def test_usage_given_estimated_and_absent(ms: ModelServer, client: httpx.AsyncClient) -> None:
    for _ in WIRES:
        ms.reply("ok", usage=(100, 20, 60, 5))
    got = [(await client.request(**ask(ms, wire, stream=False))).json() for wire in WIRES]
    assert got[0]["usage"]["prompt_tokens_details"]["cached_tokens"] == 60
    assert got[1]["usage"]["output_tokens_details"]["reasoning_tokens"] == 5
    assert got[2]["usage"]["input_tokens"] == 40
    assert got[2]["usage"]["cache_read_input_tokens"] == 60
    assert got[3]["usageMetadata"]["candidatesTokenCount"] == 15
    ms.reply("ok", usage=None)
    assert "usage" not in (await client.request(**ask(ms, "chat", stream=False))).json()
    assert events((await client.request(**ask(ms, "chat"))).text)[-1]["usage"]["prompt_tokens"] > 0
    plain = await client.request(**ask(ms, "chat", stream_options=None))
    assert all("usage" not in chunk for chunk in events(plain.text))


async def test_scripts_are_used_in_order_and_match_requests(ms: ModelServer, client: httpx.AsyncClient) -> None:
    ms.reply("for the second", when=lambda request: "two" in request.last_user_text)
    ms.reply("first", times=2)
    ms.reply("gemini only", when=lambda request: request.provider == "gemini")
    words = ("one", "two", "three", "four")
    texts = [
        answer_text("chat", (await client.request(**ask(ms, "chat", word, stream=False))).json()) for word in words
    ]
    assert texts == ["first", "for the second", "first", "You said: four"]
    assert len(ms.pending) == 1
    ms.clear()
    ms.default = lambda request: f"{request.model} here"
    answer = await client.request(**ask(ms, "generate", stream=False))
    assert answer_text("generate", answer.json()) == "gemini-2.5-flash here"
    assert len(ms.for_model("gpt-4o-mini")) == 4
    assert not ms.pending


async def test_models_are_listed_in_three_forms(ms: ModelServer, client: httpx.AsyncClient) -> None:
    bearer = {"authorization": f"Bearer {KEY}"}
    plain = (await client.get(f"{ms.openai_base}/models", headers=bearer)).json()
    assert plain["object"] == "list"
    assert plain["data"][0]["id"] == "gpt-5.1"
    version = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    claude = (await client.get(f"{ms.root}/v1/models", headers=version)).json()
    assert claude["has_more"] is False
    assert claude["data"][0]["display_name"] == "Claude Opus 4 5"
    gemini = (await client.get(f"{ms.gemini_base}/models", params={"key": KEY})).json()["models"]
    assert gemini[0]["name"] == "models/gemini-2.5-pro"
    assert [m["name"] for m in gemini if "generateContent" not in m["supportedGenerationMethods"]]
    assert ms.calls == []
    assert [entry.endpoint for entry in ms.journal] == ["models"] * 3


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
    assert answer.status_code == 200
    assert ms.last.vendor == "acme"
    assert ms.last.model == "llama"


async def test_the_server_runs_as_a_program_and_is_controlled_remotely(client: httpx.AsyncClient) -> None:
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
    assert answer_text("chat", (await answer).json()) == "told"
    await control("script", kind="fail", status=503)
    assert (await client.request(**ask(other, "messages"))).status_code == 503
    state = (await client.get(f"{root}/control/state")).json()
    assert state == {"seen": 3, "outcomes": {"completed": 2, "faulted": 1}, "scripts": 0}
    journal = (await client.get(f"{root}/control/journal", params={"since": 2})).json()["journal"]
    assert [entry["endpoint"] for entry in journal] == ["messages"]
    refused = await client.post(f"{root}/control/script", json={"kind": "joke"})
    assert refused.status_code == 400
    assert "joke" in refused.json()["error"]
    await control("reset")
    assert (await client.get(f"{root}/control/journal")).json() == {"journal": []}

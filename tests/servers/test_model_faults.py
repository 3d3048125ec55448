"""Injected faults of the loopback provider: errors, broken streams, gates, outages and disconnects."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.servers.model import ModelServer
from tests.servers.model.client import WIRES, answer_text, ask, events, finish, streamed


@pytest.mark.parametrize("wire", WIRES)
async def test_errors_in_the_providers_format(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
    ms.fail(429, retry_after=3)
    ms.fail(400, code="context_length_exceeded")
    limited, long = [await client.request(**ask(ms, wire)) for _ in range(2)]
    assert limited.status_code == 429
    assert limited.headers["retry-after"] == "3"
    kinds = {"messages": ("type", "rate_limit_error"), "generate": ("status", "RESOURCE_EXHAUSTED")}
    field, value = kinds.get(wire, ("code", "rate_limit_exceeded"))
    assert limited.json()["error"][field] == value
    assert long.status_code == 400
    assert "maximum context length" in long.json()["error"]["message"]
    assert [call.outcome for call in ms.calls] == ["faulted", "faulted"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_truncated_stream_ends_without_a_finish_reason(
    ms: ModelServer, client: httpx.AsyncClient, wire: str
) -> None:
    ms.truncate(after_chunks=2, text="abcdefgh")
    got = await client.request(**ask(ms, wire))
    chunks = events(got.text)
    assert streamed(wire, chunks) == "ab"
    assert "[DONE]" not in got.text
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
    assert "verloaded" in json.dumps(chunks[-1])
    assert streamed(wire, chunks[:-1]) == "a"
    ms.garbage()
    with pytest.raises(json.JSONDecodeError):
        (await client.request(**ask(ms, wire, stream=False))).json()


async def test_a_gate_before_the_headers(ms: ModelServer, client: httpx.AsyncClient) -> None:
    gate = ms.gate()
    answer = asyncio.create_task(client.request(**ask(ms, "chat", "wait", stream=False)))
    request = await gate.reached()
    assert request is ms.last
    assert request.outcome == "pending"
    assert not answer.done()
    gate.open()
    assert answer_text("chat", (await answer).json()) == "You said: wait"
    assert await request.finished() == "completed"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_gate_mid_stream(ms: ModelServer, client: httpx.AsyncClient, wire: str) -> None:
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


async def test_a_client_disconnect_is_recorded(ms: ModelServer, client: httpx.AsyncClient) -> None:
    gates = [ms.reply("abc", gate_after=1), ms.hang(600), ms.gate()]
    for number, _ in enumerate(gates):
        answer = asyncio.create_task(client.request(**ask(ms, "chat")))
        call = (await ms.wait_requests(number + 1))[-1]
        if number == 0:
            await gates[0].reached()
        answer.cancel()
        assert await call.finished() == "cut"
    assert not ms.pending


async def test_a_client_that_leaves_between_chunks_leaves_no_traceback(
    ms: ModelServer, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    gate = ms.reply("abc", chunks=3, gate_after=1)
    async with client.stream(**ask(ms, "chat")):
        call = await gate.reached()
        gate.open()
    assert await call.finished() in ("cut", "completed")
    assert (await client.request(**ask(ms, "chat"))).status_code == 200
    assert not caplog.records or all(record.levelname == "INFO" for record in caplog.records)


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

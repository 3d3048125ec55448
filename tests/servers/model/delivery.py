"""Sends one script over the wire, with its delays, gates and faults."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

from aiohttp import web

from tests.servers.model import (
    failures,
    wire_anthropic,
    wire_chat,
    wire_embeddings,
    wire_gemini,
    wire_media,
    wire_responses,
)
from tests.servers.model.frames import GARBAGE, Frames, data, dump, event
from tests.servers.model.request import ModelRequest, Outcome
from tests.servers.model.script import BEFORE_HEADERS, Failure, Script


class Wire(Protocol):
    """The interface of a wire module."""

    stream: Callable[[Script, ModelRequest], Frames]
    whole: Callable[[Script, ModelRequest], dict[str, Any]]


_WIRES: Final = {
    "chat": cast(Wire, wire_chat),
    "responses": cast(Wire, wire_responses),
    "messages": cast(Wire, wire_anthropic),
    "generate": cast(Wire, wire_gemini),
    "embeddings": cast(Wire, wire_embeddings),
    "embed": cast(Wire, wire_embeddings),
    "transcriptions": cast(Wire, wire_media),
    "images": cast(Wire, wire_media),
}
_STREAM_HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
_HALF: Final = b'{"id":"x","object":"chat.completion","choices":[{"message":{"content":"br'


async def hold(script: Script, request: ModelRequest) -> None:
    """Everything before the status line: the first delay, a hang, a gate."""
    if wait := script.first_delay + script.hang_seconds:
        await asyncio.sleep(wait)
    if script.gate_after == BEFORE_HEADERS:
        await script.gate.wait(request)


async def deliver(script: Script, request: ModelRequest, http: web.BaseRequest) -> web.StreamResponse:
    """Sends the answer, and records the outcome in the journal. Cancelled when the client disconnects."""
    if script.fault == "reset":
        request.finish("faulted")
        return _cut_off(http, reset=True)
    if script.fault == "status" and script.failure:
        return await refuse(script.failure, request, http, "faulted")
    if request.stream:
        return await _stream(script, request, http)
    return await _whole(script, request, http)


async def refuse(
    failure: Failure, request: ModelRequest, http: web.BaseRequest, outcome: Outcome = "refused"
) -> web.StreamResponse:
    """An error answer in the provider's form."""
    request.violations = failure.violations
    words = dump(failures.body(request.provider, failure))
    return await send(words, request, http, failure.status, failures.headers(failure), outcome)


async def send(
    body: bytes,
    request: ModelRequest,
    http: web.BaseRequest,
    status: int = 200,
    headers: dict[str, str] | None = None,
    outcome: Outcome = "completed",
    content_type: str = "application/json",
) -> web.StreamResponse:
    """A whole body."""
    request.status = status
    response = web.Response(body=body, status=status, headers=headers, content_type=content_type)
    response.headers["x-request-id"] = f"req_{request.number:06d}"
    await response.prepare(http)
    await response.write_eof()
    request.finish(outcome)
    return response


async def _whole(script: Script, request: ModelRequest, http: web.BaseRequest) -> web.StreamResponse:
    """A whole answer takes as long as its stream would have taken."""
    if script.delay:
        await asyncio.sleep(script.delay * script.chunks)
    if script.gate_after is not None and script.gate_after != BEFORE_HEADERS:
        await script.gate.wait(request)
    if script.fault == "garbage":
        return await send(_HALF, request, http, outcome="faulted")
    if script.fault == "break" and script.failure:
        return await refuse(script.failure, request, http, "faulted")
    if request.endpoint == "speech":
        return await send(script.media or wire_media.SOUND, request, http, content_type="audio/ogg")
    body = dump(_WIRES[request.endpoint].whole(script, request))
    if script.fault not in ("truncate", "abort"):
        return await send(body, request, http)
    request.status = 200
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(body)
    await response.prepare(http)
    await response.write(body[: len(body) // 2])
    request.finish("faulted")
    return _cut_off(http, response)


async def _stream(script: Script, request: ModelRequest, http: web.BaseRequest) -> web.StreamResponse:
    frames = _WIRES[request.endpoint].stream(script, request)
    request.status = 200
    response = web.StreamResponse(headers=_STREAM_HEADERS)
    response.headers["x-request-id"] = f"req_{request.number:06d}"
    response.enable_chunked_encoding()
    if script.fault != "none":
        response.force_close()  # otherwise a client may send the next request before it learns of the end
    await response.prepare(http)
    for frame in frames.head:
        await response.write(frame)
    last = len(frames.parts)
    for index in range(last + 1):
        if script.gate_after == index:
            await script.gate.wait(request)
        if script.fault != "none" and index == min(script.fault_after, last):
            return await _break_off(script, request, http, response)
        if index == last:
            break
        if index and script.delay:
            await asyncio.sleep(script.delay)
        await response.write(frames.parts[index])
        request.chunks_sent = index + 1
    await response.write(b"".join(frames.tail))
    await response.write_eof()
    request.finish("completed")
    return response


async def _break_off(
    script: Script, request: ModelRequest, http: web.BaseRequest, response: web.StreamResponse
) -> web.StreamResponse:
    if script.fault == "garbage":
        await response.write(GARBAGE)
    if script.fault == "break" and script.failure:
        error_event = failures.stream_event(request, script.failure)
        named = request.endpoint in ("messages", "responses")
        await response.write(event(error_event) if named else data(error_event))
    request.finish("faulted")
    if script.fault == "abort":
        return _cut_off(http, response)
    await response.write_eof()
    if http.transport is not None:
        http.transport.close()
    return response


def _cut_off(
    http: web.BaseRequest, response: web.StreamResponse | None = None, *, reset: bool = False
) -> web.StreamResponse:
    """Ends the connection inside an answer, by FIN, or by RST with `reset`."""
    transport = http.transport
    if transport is not None and reset:
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if transport is not None:
        transport.abort() if reset else transport.close()
    return response or web.Response()

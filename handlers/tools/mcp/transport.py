"""Transports to a server: pipes of a child process, or HTTP.

HTTP is the SDK's transport with a size limit and a rate limit on response bodies. The SDK's stdio transport can't be
limited from outside: it buffers a line of any length, reads as fast as the server writes, passes on more of the
environment and accepts no streams. So stdio is read here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from handlers.tools.mcp.config import Command, Endpoint, Limits
from routing.errors import Reason
from routing.process import ChildProcess

_EXIT_SECONDS = 0.1
"""Wait for the exit of a process whose pipes have ended."""
_REST_SECONDS = 1.0
"""Time to read what a process wrote before it ended. Its children may hold its stdout for longer."""
_WRITE_SECONDS = 20.0
_ENDS_BYTES = 512
"""Kept from both ends of a line that can't be parsed, because one of them has the id of the request."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_SLICE_BYTES = 4096
"""Size of the pieces in which an event stream is passed on; each takes a few milliseconds to parse."""
_TIMEOUT = httpx2.Timeout(30.0, read=300.0)
_REFUSALS = (401, 403, 407, 429)
"""Failures, as is any 5xx. Servers use other codes to reject GET or the newest protocol."""


@dataclass(slots=True)
class Diagnosis:
    """Why a connection ended, if the transport knows it, and the last lines of a child's stderr."""

    reason: Reason | None = None
    log: str = ""


class Pace:
    """Limits the rate of reading from a server. The rest waits in its pipe or socket."""

    def __init__(self, limits: Limits, now: float | None = None) -> None:
        self._limits = limits
        self._spent = 0.0
        self._at = monotonic() if now is None else now

    async def spend(self, size: int, messages: int) -> None:
        """Count bytes and messages, and sleep while they exceed the limits. Always yields to other tasks."""
        await asyncio.sleep(self.owed(size, messages, monotonic()))

    def owed(self, size: int, messages: int, now: float) -> float:
        """Seconds to wait after reading this much."""
        limits = self._limits
        cost = max(size / limits.bytes_per_second, messages / limits.messages_per_second)
        self._spent = max(0.0, self._spent - (now - self._at)) + cost
        self._at = now
        return max(0.0, self._spent - limits.burst_seconds)


@asynccontextmanager
async def stdio(command: Command, limits: Limits, diagnosis: Diagnosis) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's pair of streams, for as long as the child process lives. Raises OSError if it can't be started."""
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with _child(command, limits, diagnosis) as child, anyio.create_task_group() as tasks:
        tasks.start_soon(_read, child.stdout, incoming, limits)
        tasks.start_soon(_write, child, outgoing, incoming, diagnosis)
        tasks.start_soon(_end, child, incoming)
        try:
            yield reading, writing
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, reading, writing, outgoing):
                stream.close()


@asynccontextmanager
async def _child(command: Command, limits: Limits, diagnosis: Diagnosis) -> AsyncIterator[ChildProcess]:
    child = await ChildProcess.start(
        command.arguments,
        environment=command.environment,
        folder=command.folder,
        line_bytes=limits.message_bytes,
        grace_seconds=limits.end_seconds,
    )
    try:
        yield child
    finally:
        with anyio.CancelScope(shield=True):
            if await child.exited(_EXIT_SECONDS) and not diagnosis.reason:
                diagnosis.reason = Reason("it {ended}", ended=child.ending)
            await child.stop()
            diagnosis.log = child.log


async def _read(
    pipe: asyncio.StreamReader, incoming: MemoryObjectSendStream[SessionMessage | Exception], limits: Limits
) -> None:
    with incoming:
        async for message in read_messages(pipe, limits):
            try:
                await incoming.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


async def read_messages(pipe: asyncio.StreamReader, limits: Limits) -> AsyncIterator[types.JSONRPCMessage]:
    """The messages in a pipe whose `limit` is `limits.message_bytes`, one per line. Other lines are skipped, because
    some servers print a greeting. An answer that is too large or nested too deeply becomes an error for its request."""
    pace, ends = Pace(limits), b""
    too_large = f"the answer is larger than {limits.message_bytes / 1e6:.0f} MB; ask for less"
    while True:
        try:
            line = await pipe.readuntil()
        except asyncio.LimitOverrunError as overrun:
            piece = await pipe.readexactly(overrun.consumed)
            ends = (ends or piece)[:_ENDS_BYTES] + piece[-_ENDS_BYTES:]
            await pace.spend(len(piece), 0)
            continue
        except asyncio.IncompleteReadError:
            return
        message = _error(ends + line[-_ENDS_BYTES:], too_large) if ends else _parsed(line)
        ends = b""
        if message is not None:
            yield message
        await pace.spend(len(line), 1)


def _parsed(line: bytes) -> types.JSONRPCMessage | None:
    try:
        # Not `validate_json`: it parses the text once for each kind of message, 0.2 s for 4 MB.
        return types.jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)
    except RecursionError:
        return _error(line[:_ENDS_BYTES] + line[-_ENDS_BYTES:], "the answer is nested too deeply")
    except ValueError:
        return None


def _error(ends: bytes, words: str) -> types.JSONRPCError | None:
    """An error for the request whose id is in the ends of a line."""
    found = _ID.search(ends)
    error = types.ErrorData(code=0, message=words)
    return types.JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error) if found else None


async def _write(
    child: ChildProcess,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    diagnosis: Diagnosis,
) -> None:
    try:
        async for item in outgoing:
            async with asyncio.timeout(_WRITE_SECONDS):
                await child.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    except TimeoutError:
        diagnosis.reason = Reason("it did not read its stdin for {seconds:.0f} s", seconds=_WRITE_SECONDS)
    except OSError:  # the process is gone, and the end of its stdout says more
        pass
    else:
        return
    incoming.close()


async def _end(child: ChildProcess, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    await child.wait()
    await asyncio.sleep(_REST_SECONDS)
    incoming.close()


@asynccontextmanager
async def http(endpoint: Endpoint, limits: Limits, diagnosis: Diagnosis) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's pair of streams."""

    async def bound(response: httpx2.Response) -> None:
        if response.request.method == "POST":
            refused = response.status_code in _REFUSALS or response.status_code >= 500
            status = str(response.status_code)
            diagnosis.reason = Reason("it answers HTTP {status}", status=status) if refused else None
        if response.headers.get("content-encoding", "identity") != "identity":  # it would unpack behind the limit
            raise httpx2.DecodingError("compressed, although that was not asked for", request=response.request)
        response.stream = _BoundedBody(response, limits)

    headers = {**endpoint.headers, "Accept-Encoding": "identity"}
    make = partial(httpx2.AsyncClient, headers=headers, timeout=_TIMEOUT, event_hooks={"response": [bound]})
    async with (
        await asyncio.to_thread(make) as client,  # reads the certificates of the machine
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=limits.message_bytes) as streams,
    ):
        yield streams


class _BoundedBody(httpx2.AsyncByteStream):
    """A response body with a rate limit, and with a size limit if it is a single message. The SDK limits the size of
    each event of a stream."""

    def __init__(self, response: httpx2.Response, limits: Limits) -> None:
        self._body: Any = response.stream
        self._limits = limits
        self._events = response.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pace, size = Pace(self._limits), 0
        async for chunk in self._body:
            size += len(chunk)
            if not self._events and size > self._limits.message_bytes:
                raise httpx2.StreamError(f"it is larger than {self._limits.message_bytes / 1e6:.0f} MB")
            for at in range(0, len(chunk), _SLICE_BYTES):
                piece = chunk[at : at + _SLICE_BYTES]
                await pace.spend(len(piece), piece.count(b"\n") if self._events else 0)
                yield piece

    async def aclose(self) -> None:
        await self._body.aclose()

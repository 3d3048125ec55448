"""The stdio transport: the SDK's own keeps a line however long it is, and waits however long nobody reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage

from handlers.tools.mcp.child import child
from handlers.tools.mcp.limits import Limits, Pace
from handlers.tools.mcp.lines import Lines, TooLong, answered
from handlers.tools.mcp.notes import Notes
from handlers.tools.mcp.servers import Command

_CHUNK = 65536
_WRITE_SECONDS = 20.0
"""A server that does not empty its stdin for so long is taken for dead."""

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def pipes(command: Command, limits: Limits, notes: Notes) -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's pair of streams, for as long as the child lives. Raises OSError when it can't be started."""
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with child(command, limits, notes) as process, anyio.create_task_group() as tasks:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        tasks.start_soon(_read, process.stdout, incoming, limits)
        tasks.start_soon(_write, process.stdin, outgoing, incoming, notes)
        tasks.start_soon(_listen, process.stderr, Pace(limits), notes)
        try:
            yield reading, writing
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, reading, writing, outgoing):
                stream.close()


async def _read(pipe: asyncio.StreamReader, incoming: Incoming, limits: Limits) -> None:
    lines, pace = Lines(limits.message_bytes), Pace(limits)
    with incoming:
        while chunk := await pipe.read(_CHUNK):
            for line in lines.feed(chunk):
                message = _parsed(line, limits)
                if message is not None:
                    try:
                        await incoming.send(SessionMessage(message))
                    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                        return
            await pace.spend(len(chunk), chunk.count(b"\n"))


async def _write(pipe: asyncio.StreamWriter, outgoing: Outgoing, incoming: Incoming, notes: Notes) -> None:
    try:
        async for item in outgoing:
            try:
                pipe.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            except ValueError:  # half a character, or nested without end
                _fail(item.message, incoming)
            async with asyncio.timeout(_WRITE_SECONDS):
                await pipe.drain()
    except TimeoutError:
        notes.reason = f"it did not read its stdin for {_WRITE_SECONDS:.0f} s"
    except OSError:  # it is gone; the reader knows more
        pass
    else:
        return
    incoming.close()


def _fail(message: types.JSONRPCMessage, incoming: Incoming) -> None:
    """Whoever waits for the answer to what could not be written gets one. Nobody may wait for the reader here: it may
    just be waiting for the writer."""
    if isinstance(message, types.JSONRPCRequest):
        asking = asyncio.create_task(incoming.send(SessionMessage(_error(message.id, "it can't be written as JSON"))))
        asking.add_done_callback(lambda done: done.cancelled() or done.exception())  # the connection may be gone


async def _listen(pipe: asyncio.StreamReader, pace: Pace, notes: Notes) -> None:
    while chunk := await pipe.read(_CHUNK):
        notes.add(chunk)
        await pace.spend(len(chunk), 0)


def _parsed(line: bytes | TooLong, limits: Limits) -> types.JSONRPCMessage | None:
    """None for what is no message: many a server prints a greeting."""
    if isinstance(line, TooLong):
        words = f"the answer is larger than {limits.message_bytes / 1e6:.0f} MB; ask for less"
        return None if line.answers is None else _error(line.answers, words)
    try:
        # Not `validate_json`: it reads the text once for each kind of message, 0.2 s for 4 MB.
        return types.jsonrpc_message_adapter.validate_python(json.loads(line), by_name=False)
    except RecursionError:
        answers = answered(line, line)
        return None if answers is None else _error(answers, "the answer is nested too deeply")
    except ValueError:
        return None


def _error(answers: types.RequestId, words: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=answers, error=types.ErrorData(code=0, message=words))

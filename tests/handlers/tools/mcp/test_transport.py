"""Reading from a server: bounded lines, and a pace."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import types

from handlers.tools.mcp.config import DEFAULT_LIMITS
from handlers.tools.mcp.transport import Pace, read_messages

SMALL = replace(DEFAULT_LIMITS, message_bytes=1_000)
ECHO = b'{"jsonrpc": "2.0", "id": 5, "result": {}}\n'


async def read(data: bytes, chunk: int = 65536) -> list[tuple[object, str]]:
    """The id and error of every message in a pipe that delivers this much at once."""
    pipe = asyncio.StreamReader(limit=SMALL.message_bytes)

    async def feed() -> None:
        for at in range(0, len(data), chunk):
            pipe.feed_data(data[at : at + chunk])
            await asyncio.sleep(0)
        pipe.feed_eof()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(feed())
        found = [message async for message in read_messages(pipe, SMALL)]
    return [
        (message.id, message.error.message if isinstance(message, types.JSONRPCError) else "")
        for message in found
        if isinstance(message, types.JSONRPCError | types.JSONRPCResponse)
    ]


@pytest.mark.parametrize("chunk", [1, 7, 100, 1_000, 65536])
async def test_lines_that_are_too_long_become_errors_for_their_requests(chunk: int) -> None:
    begin = b'{"id": 12, "x": "' + b"y" * 3_000 + b'"}\n'
    end = b"z" * 2_000 + b'"id":7}\n'
    too_large = "the answer is larger than 0 MB; ask for less"
    data = ECHO + b"\n" + begin + ECHO + end + b"q" * 2_000 + b"\n" + ECHO + b"rest"
    assert await read(data, chunk) == [(5, ""), (12, too_large), (5, ""), (7, too_large), (5, "")]


async def test_an_endless_line_takes_no_memory() -> None:
    pipe: Any = asyncio.StreamReader(limit=1_000)
    reading = asyncio.create_task(anext(read_messages(pipe, SMALL), None))
    for _ in range(1_000):
        pipe.feed_data(b"x" * 1_000)
        await asyncio.sleep(0)
    assert len(pipe._buffer) < 5_000
    pipe.feed_eof()
    assert await reading is None


@pytest.mark.parametrize("line", [b"Welcome!", b"{}", b"[1, 2]", b'{"jsonrpc": "2.0", "id":', b"\xff"])
async def test_invalid_messages_are_skipped(line: bytes) -> None:
    assert await read(line + b"\n" + ECHO) == [(5, "")]


def test_only_excess_messages_are_slowed() -> None:
    pace = Pace(replace(DEFAULT_LIMITS, messages_per_second=10, bytes_per_second=100, burst_seconds=2), now=1_000)
    assert pace.owed(150, 15, now=1_000) == 0
    assert pace.owed(0, 30, now=1_000) == 2.5
    assert pace.owed(1_000, 0, now=1_001.5) == 11
    assert pace.owed(0, 0, now=2_000) == 0

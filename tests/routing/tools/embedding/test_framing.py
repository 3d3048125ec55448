"""Messages over a pipe arrive whole or not at all."""

from __future__ import annotations

import asyncio
import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing.tools.embedding.framing import (
    MAX_BODY,
    MAX_HEADER,
    BrokenFrame,
    Frame,
    read,
    receive,
)

FRAMES = st.builds(Frame, st.dictionaries(st.text(), st.integers() | st.lists(st.text())), st.binary())


async def received(data: bytes) -> list[Frame]:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    found = []
    while (frame := await receive(reader)) is not None:
        found.append(frame)
    return found


def blocking(data: bytes) -> list[Frame]:
    stream = io.BytesIO(data)
    found = []
    while (frame := read(stream)) is not None:
        found.append(frame)
    return found


@settings(deadline=None)
@given(frames=st.lists(FRAMES, max_size=4), cut=st.integers(min_value=0))
def test_both_ends_read_what_is_whole(frames: list[Frame], cut: int) -> None:
    data = b"".join(frame.packed() for frame in frames)
    assert asyncio.run(received(data)) == blocking(data) == frames
    part = data[: cut % (len(data) + 1)]
    sizes = [len(frame.packed()) for frame in frames]
    whole = [frame for at, frame in enumerate(frames) if sum(sizes[: at + 1]) <= len(part)]
    assert asyncio.run(received(part)) == blocking(part) == whole


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<II", MAX_HEADER + 1, 0),
        struct.pack("<II", 2, MAX_BODY + 1) + b"{}",
        struct.pack("<II", 4, 0) + b"{not",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 2, 0) + b"\xff\xff",
        struct.pack("<II", 100_000, 0) + b"[" * 100_000,
    ],
)
async def test_anything_else_is_broken(data: bytes) -> None:
    with pytest.raises(BrokenFrame):
        await received(data)
    with pytest.raises(BrokenFrame):
        blocking(data)

"""The packet lines that git sends (gitprotocol-common), and the commands of a push in them."""

from __future__ import annotations

import re
from typing import Protocol

from handlers.tools.git.remote import Push
from routing.errors import ToolFailed

MAX_REQUEST_BYTES = 16 * 2**20
"""What git sends to fetch: the names of commits."""
MAX_COMMAND_BYTES = 100_000
_COMMAND = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([^\0\n]+)")


class _Reader(Protocol):
    async def readexactly(self, n: int, /) -> bytes: ...


async def read_commands(reader: _Reader, push: Push) -> bytes:
    """The packet lines of a push up to the first flush packet. Raises ToolFailed for another change than `push`."""
    read = bytearray()
    while True:
        length, line = await read_packet(reader)
        read += length + line
        if not line and length == b"0000":
            return bytes(read)
        if len(read) > MAX_COMMAND_BYTES:
            raise ToolFailed("git's request is too large.")
        command = _COMMAND.match(line)
        if line.startswith(b"shallow "):
            continue
        if command is None or command.groups()[1:] != (push.commit.encode(), push.ref.encode()):
            raise ToolFailed("git tried to push something else than was confirmed. Nothing was pushed.")
        if b"push-options" in line.partition(b"\0")[2].split():  # orders to the server, such as to merge
            raise ToolFailed("git tried to give the server an order besides the push. Nothing was pushed.")
        if command[1].strip(b"0") != push.base.encode().strip(b"0"):  # the server refuses one that is not current
            raise ToolFailed(
                "The branch on the server is not as it was when this folder last saw it. Nothing was pushed: use "
                "git_pull, then ask again."
            )


async def read_packet(reader: _Reader) -> tuple[bytes, bytes]:
    """The length and the content of a packet line."""
    length = await reader.readexactly(4)
    try:
        size = int(length, 16)
    except ValueError:
        raise ToolFailed("git sent an invalid request.") from None
    return length, await reader.readexactly(size - 4) if size > 4 else b""

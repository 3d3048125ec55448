"""The gateway to a git daemon (`git://`), which knows no logins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote

from handlers.tools.git.packets import MAX_REQUEST_BYTES, read_commands, read_packet
from handlers.tools.git.remote import CONNECT_SECONDS, FETCH, OTHER_REPOSITORY, PUSH, SILENT_SECONDS, TOO_LARGE, Route
from routing.errors import ToolFailed

_CHUNK = 65536


@asynccontextmanager
async def daemon(route: Route, path: Path, problems: list[str]) -> AsyncIterator[None]:
    """Forwards what comes to the Unix socket at this path while the block runs; adds to `problems` what went wrong."""
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _with_daemon(route, reader, writer)
            writer.close()
            await writer.wait_closed()
        except ToolFailed as error:
            problems.append(str(error))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            problems.append(f"{route.remote.host} can't be reached, or stopped in the middle. Try again later.")
        finally:
            writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(connected(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_unix_server(accept, path)
    try:
        yield
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _with_daemon(route: Route, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    _, line = await read_packet(reader)
    words, *more = line.split(b"\0")
    service, _, wanted = words.rstrip(b"\n").decode(errors="replace").partition(" ")
    if service not in route.services or wanted != unquote(route.remote.path):
        raise ToolFailed(OTHER_REPOSITORY)
    async with asyncio.timeout(CONNECT_SECONDS):
        there, server = await asyncio.open_connection(route.addresses[0], route.remote.port)
    try:
        version = b"\0version=2\0" if b"version=2" in more else b""
        asked = words + b"\0host=" + route.remote.host.encode() + b"\0" + version
        server.write(b"%04x" % (len(asked) + 4) + asked)

        async def send() -> None:
            if service == PUSH:
                assert route.push is not None
                server.write(await read_commands(reader, route.push))
            await _copied(reader, server, MAX_REQUEST_BYTES if service == FETCH else route.max_bytes)
            server.write_eof()

        sending, receiving = (asyncio.create_task(each) for each in (send(), _copied(there, writer, route.max_bytes)))
        try:
            done, _ = await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
            if sending in done:
                sending.result()
            await receiving
        finally:
            sending.cancel()
            receiving.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)
    finally:
        server.transport.abort()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int) -> None:
    async with asyncio.timeout(None) as silence:
        while True:
            silence.reschedule(asyncio.get_running_loop().time() + SILENT_SECONDS)
            chunk = await reader.read(_CHUNK)
            if not chunk:
                break
            most -= len(chunk)
            if most < 0:
                raise ToolFailed(TOO_LARGE)
            writer.write(chunk)
            await writer.drain()

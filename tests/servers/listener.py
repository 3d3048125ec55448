"""An HTTP server on 127.0.0.1 that can stop and come back on the same port."""

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@contextlib.asynccontextmanager
async def listening(handle: Handler) -> AsyncIterator[str]:
    """A server that answers every request with `handle`; yields its address."""
    listener = Listener(handle, 0, 2**20)
    await listener.up()
    try:
        yield f"http://127.0.0.1:{listener.port}"
    finally:
        await listener.down()


async def drip(request: web.BaseRequest, answer: web.Response, seconds: float) -> web.StreamResponse:
    """Send the body of an answer byte by byte."""
    assert isinstance(answer.body, bytes)
    slow = web.StreamResponse(status=answer.status, headers=answer.headers)
    await slow.prepare(request)
    for byte in answer.body:
        await slow.write(bytes([byte]))
        await asyncio.sleep(seconds)
    return slow


class Listener:
    """`port` 0 takes a free one and keeps it. Request bodies may have at most `most_bytes`."""

    def __init__(self, handle: Handler, port: int, most_bytes: int, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = port
        self._handle = handle
        self._most_bytes = most_bytes
        self._runner: web.ServerRunner | None = None

    @property
    def is_up(self) -> bool:
        return self._runner is not None

    async def down(self) -> bool:
        """Stops listening and cuts every connection; False if it was already down."""
        runner, self._runner = self._runner, None
        if runner is None:
            return False
        for connection in runner.server.connections if runner.server else []:
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
        return True

    async def up(self) -> bool:
        """Listens (again); False if it was already listening."""
        if self._runner is not None:
            return False
        server = web.Server(self._handle, request_factory=self._roomy, handler_cancellation=True, access_log=None)
        runner = self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await runner.setup()
        while True:
            try:
                await web.TCPSite(runner, self.host, self.port, backlog=1024, reuse_address=True).start()
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or self.port == 0:
                    raise
                await asyncio.sleep(0.05)
        self.port = runner.addresses[0][1]
        return True

    def _roomy(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        """aiohttp's request with room for the largest upload."""
        loop = asyncio.get_running_loop()
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=self._most_bytes)


class Leaving:
    """Context managers for a server that can go down and come back."""

    _listener: Listener

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def is_up(self) -> bool:
        return self._listener.is_up

    async def go_down(self) -> None:
        """Stop listening and cut every connection."""
        await self._listener.down()

    async def come_back(self) -> None:
        """Listen (again), on the same port."""
        await self._listener.up()

    async def __aenter__(self) -> Self:
        await self.come_back()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()

    @contextlib.asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Inside the block the server is down: connections are refused."""
        await self.go_down()
        try:
            yield
        finally:
            await self.come_back()

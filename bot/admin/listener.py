"""Listens on ADMIN_ADDRESS. Until somebody connects, it costs a socket: the web framework is imported then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from bot.admin.loading import Loading
from bot.admin.services import AdminServices
from routing.error_boundary import ErrorBoundary
from routing.errors import system_reason
from routing.lean_imports import without_collection

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
CHECK_SECONDS = 10.0
"""A connection is closed if it is at the same request at two of these checks, and the bot waits for the client."""
END_SECONDS = 3.0
"""Time for requests that are being answered when the bot ends."""
TAKEN = (
    "ADMIN_ADDRESS %s can't be used (%s), so health, metrics and the admin page are off. Set it to another port, or to "
    "off."
)

log = logging.getLogger("bot.admin")


class Listener:
    """A context manager that listens as long as it is open. If the address can't be used, the log says so."""

    def __init__(self, port: int, services: AdminServices) -> None:
        """Listens on `services.host`; port 0 is any free one."""
        self.port = port
        self._services = services
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._loading: set[asyncio.Task[None]] = set()
        self._requests: set[asyncio.Task[None]] = set()
        self._new_protocol = Loading(partial(_load, services, self._requests))

    async def __aenter__(self) -> Self:
        loop, host = asyncio.get_running_loop(), self._services.host
        try:
            self._server = await loop.create_server(lambda: _Connection(self), host, self.port)
        except OSError as error:
            log.warning(TAKEN, _address(host, self.port), system_reason(error))
        else:
            self.port = self._server.sockets[0].getsockname()[1]
            log.info("Health, metrics and the admin page are at http://%s", _address(host, self.port))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()
        for task in list(self._loading):
            task.cancel()
        await asyncio.gather(*self._loading, return_exceptions=True)
        if self._requests:  # what they use is closed next
            await asyncio.wait(self._requests, timeout=END_SECONDS)

    def opened(self, connection: _Connection) -> bool:
        """Whether one more connection is allowed. Its protocol follows."""
        if len(self._connections) >= MAX_CONNECTIONS:
            return False
        self._connections.add(connection)
        task = asyncio.create_task(self._serve(connection))
        self._loading.add(task)
        task.add_done_callback(self._loading.discard)
        return True

    def closed(self, connection: _Connection) -> None:
        self._connections.discard(connection)

    async def _serve(self, connection: _Connection) -> None:
        """Import the framework for the first connection; others wait for it."""
        boundary = ErrorBoundary(log, "The admin page can't be loaded")
        with boundary:
            connection.serve((await self._new_protocol.get())())
        if boundary.error is not None:
            connection.abort()


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _load(services: AdminServices, requests: set[asyncio.Task[None]]) -> Callable[[], H11Protocol]:
    """How to make a protocol for one connection. `requests` will hold those being answered. Takes 0.3 s and 4 MB."""
    with without_collection():
        from uvicorn import Config
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.server import ServerState

        from bot.admin.app import build_app

    config = Config(
        build_app(services),
        http=H11Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",  # a client that sends nonsense is no news
        access_log=False,
        proxy_headers=False,
        server_header=False,
    )
    config.load()
    state = ServerState()
    state.tasks = requests
    return lambda: H11Protocol(config, state, {})


class _Connection(asyncio.Protocol):
    """Passes a connection on to uvicorn's protocol, and closes it if the client is too slow. Uvicorn has no timeout
    for receiving a request."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._inner: H11Protocol | None = None
        self._early = b""
        self._seen: object = None
        self._check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not self._listener.opened(self):
            self._transport.abort()

    def serve(self, inner: H11Protocol) -> None:
        """Begin to read requests."""
        if self._transport.is_closing():
            return
        self._inner = inner
        inner.connection_made(self._transport)
        self._later()
        if self._early:
            self._transport.resume_reading()
            inner.data_received(self._early)
            self._early = b""

    def _later(self) -> None:
        self._check = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._close_if_stuck)

    def _close_if_stuck(self) -> None:
        assert self._inner is not None
        request = self._inner.cycle
        receiving = request is None or request.response_complete or request.more_body
        waits = receiving or self._inner.flow.write_paused
        if waits and self._seen == (request,):
            self.abort()
            return
        self._seen = (request,) if waits else None
        self._later()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)
        else:
            self._early += data
            self._transport.pause_reading()

    def eof_received(self) -> None:
        if self._inner is not None:
            self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._listener.closed(self)
        if self._check is not None:
            self._check.cancel()
        if self._inner is not None:
            self._inner.connection_lost(error)

"""Discord on 127.0.0.1, REST and gateway: one bot, its token, and the people who talk to it."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from tests.servers.discord.endpoint import BASE, Endpoint
from tests.servers.discord.faults import Fault, Kind
from tests.servers.discord.gateway import Gateway
from tests.servers.discord.values import BOT_ID, User
from tests.servers.discord.waiting import Observing
from tests.servers.discord.wire import MAX_BODY
from tests.servers.listener import Leaving, Listener

TOKEN = "NDI0MjQyNDI0MjQyNDI0Mg.TEST.loopback-token"
"""Its first part is the bot's id in base64, as in every token."""


class DiscordServer(Leaving, Observing):
    """`async with DiscordServer() as dc:` serves at `dc.root` and `dc.gateway`; the package's docstring lists all
    operations."""

    def __init__(
        self,
        token: str = TOKEN,
        port: int = 0,
        *,
        username: str = "tierbot",
        privileged: Iterable[str] = ("message_content",),
        limits: bool = False,
        clock: Callable[[], float] = time.time,
        response_limit: float = 60.0,
        heartbeat_interval: float = 41.25,
        identify_gap: float = 0.0,
    ) -> None:
        super().__init__(User(BOT_ID, username, is_bot=True), clock, set())
        self.grant(*privileged)
        self.token = token
        self.response_limit = response_limit
        self._endpoint = Endpoint(self, token, limits=limits)
        self._gateway = Gateway(self, token, heartbeat_interval, identify_gap)
        self._listener = Listener(self._handle, port, MAX_BODY)

    @property
    def gateway(self) -> str:
        """The websocket's address, without its query: discord.py's DEFAULT_GATEWAY."""
        return f"ws://127.0.0.1:{self.port}/"

    @property
    def root(self) -> str:
        """The address of the REST API, with /api/v10: discord.py's Route.BASE."""
        return f"http://127.0.0.1:{self.port}{BASE}"

    @property
    def heartbeat_interval(self) -> float:
        """Seconds, sent to every new connection."""
        return self._gateway.heartbeat_interval

    @heartbeat_interval.setter
    def heartbeat_interval(self, seconds: float) -> None:
        self._gateway.heartbeat_interval = seconds

    async def go_down(self) -> None:
        """Stop listening and cut every connection; what people say meanwhile waits for a RESUME."""
        if await self._listener.down():
            self.changed()

    async def come_back(self) -> None:
        """Listen (again), on the same port."""
        if await self._listener.up():
            self.address = f"http://127.0.0.1:{self.port}"
            self.changed()

    def revoke(self) -> None:
        """The owner reset the token: every call answers 401, the gateway closes with 4004."""
        self._endpoint.revoked = self._gateway.revoked = True
        self.close_gateway(4004)

    def restore(self) -> None:
        """The token is valid again."""
        self._endpoint.revoked = self._gateway.revoked = False

    # --- failures ---------------------------------------------------------------------------------------------

    def fault(self, call: str, kind: Kind, *, times: int | None = 1, **details: Any) -> Fault:
        """Adds a failure for the next `times` matching calls; `Fault` explains the kinds and the details."""
        fault = Fault(call=call, kind=kind, times=times, **details)
        self._endpoint.faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        for fault in self._endpoint.faults:
            fault.clear()

    def gateway_silent(self, *, events: bool = False) -> None:
        """The current connections look open but are dead: no heartbeat is acknowledged and, unless `events`, nothing
        arrives. A new connection works."""
        for connection in self._gateway.connections:
            connection.mute(events=events)

    def close_gateway(self, code: int = 4000) -> None:
        """Close every connection with that code."""
        for connection in self._gateway.connections:
            connection.close(code)

    def cut_gateway(self) -> None:
        """Every connection breaks without a close frame."""
        for connection, request in self._gateway.connections.items():
            connection.cut(request)

    def ask_reconnect(self) -> None:
        """Op 7: asks the bot to reconnect and resume."""
        for connection in self._gateway.connections:
            connection.put(7)

    def invalidate(self, resumable: bool = False) -> None:
        """Op 9; a session that can't be resumed is forgotten with its undelivered events."""
        for connection in self._gateway.connections:
            if connection.session is not None:
                connection.session.ended = not resumable
            connection.put(9, resumable)

    # --- HTTP -------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._gateway.serve(request)
        if request.path in self.files:
            file = self.files[request.path]
            return web.Response(body=file.data, content_type=file.mime.partition(";")[0])
        return await self._endpoint.call(request)

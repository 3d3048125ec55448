"""The Bot API over HTTP on 127.0.0.1: one bot, its token, and the people who talk to it."""

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.servers.telegram.endpoint import Endpoint
from tests.servers.telegram.faults import Fault, Kind
from tests.servers.telegram.observing import Observing
from tests.servers.telegram.values import Json, User
from tests.servers.telegram.wire import MAX_BODY

TOKEN = "123456:TEST-TOKEN"
Extra = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class TelegramServer(Observing):
    """`async with TelegramServer() as tg:` serves at `tg.root`; people act through `tg.say(…)` and the like,
    and what the bot did stands in `tg.chats`, `tg.drafts`, `tg.actions`, `tg.requests`, `tg.violations`."""

    def __init__(
        self,
        token: str = TOKEN,
        port: int = 0,
        *,
        username: str = "tierbot",
        flood: bool = False,
        privacy: bool = False,
    ) -> None:
        """`flood` enforces the real limits on sends and edits; `privacy` hides from the bot what in groups is not
        meant for it."""
        bot_id = int(token.partition(":")[0])
        super().__init__(User(bot_id, username.capitalize(), username, None, is_bot=True))
        self.token = token
        self.privacy = privacy
        self.port = port
        self.extra: Extra | None = None
        """Serves the paths outside the Bot API, if set."""
        self._endpoint = Endpoint(self, token, flood=flood)
        self._runner: web.ServerRunner | None = None

    @property
    def root(self) -> str:
        """The API's address without /bot<token>; files are under root/file/bot<token>/."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.come_back()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.go_down()
        await self.updates.aclose()

    @property
    def is_up(self) -> bool:
        return self._runner is not None

    async def go_down(self) -> None:
        """Stop listening and cut every connection; what people say meanwhile waits."""
        runner, self._runner = self._runner, None
        self.updates.pause(True)
        if runner is not None:
            for connection in runner.server.connections if runner.server else []:
                if connection.transport is not None:
                    connection.transport.abort()
            await runner.cleanup()
            self.changed()

    async def come_back(self) -> None:
        """Listen (again), on the same port."""
        if self._runner is not None:
            return
        server = web.Server(
            self._handle,
            request_factory=_roomy_request,
            handler_cancellation=True,
            access_log=None,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=0.05)
        await self._runner.setup()
        await self._listen(self._runner)
        self.updates.pause(False)
        self.changed()

    async def _listen(self, runner: web.ServerRunner) -> None:
        while True:
            try:
                await web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True).start()
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE or self.port == 0:
                    raise
                await asyncio.sleep(0.05)
        self.port = runner.addresses[0][1]

    @contextlib.asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """The server is away inside the block: connections are refused."""
        await self.go_down()
        try:
            yield
        finally:
            await self.come_back()

    def revoke(self) -> None:
        """The owner revoked the token: every call answers 401, a waiting poll at once."""
        self._endpoint.revoked = True
        self.updates.interrupt("revoked token")

    def restore(self) -> None:
        """The token is valid again."""
        self._endpoint.revoked = False

    def fault(
        self,
        method: str,
        kind: Kind,
        *,
        times: int | None = 1,
        retry_after: int = 1,
        seconds: float = 60.0,
        text: str = "",
        skip: int = 0,
        when: Callable[[Json], bool] | None = None,
    ) -> Fault:
        """Order a failure of the next `times` calls of `method` ("*": any); `Fault` explains the kinds."""
        fault = Fault(method, kind, times, retry_after, seconds, text, skip, when)
        self._endpoint.faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        for fault in self._endpoint.faults:
            fault.clear()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/bot"):
            return await self._endpoint.call(request)
        if request.path.startswith("/file/bot"):
            return self._endpoint.download(request.path)
        if self.extra is not None:
            return await self.extra(request)
        return web.json_response({"ok": False, "error_code": 404, "description": "Not Found"}, status=404)


def _roomy_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    """aiohttp's own request with room for the largest upload."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY)

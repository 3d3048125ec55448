"""The Bot API over HTTP on 127.0.0.1: one bot, its token, and the people who talk to it."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from aiohttp import web

from tests.servers.listener import Leaving, Listener
from tests.servers.telegram.endpoint import Endpoint
from tests.servers.telegram.faults import Fault, Kind
from tests.servers.telegram.values import User
from tests.servers.telegram.waiting import Observing
from tests.servers.telegram.wire import MAX_BODY

TOKEN = "123456:TEST-TOKEN"
Extra = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class TelegramServer(Leaving, Observing):
    """`async with TelegramServer() as tg:` serves at `tg.root`; people act through `tg.say(…)` and the like,
    and what the bot did is in `tg.chats`, `tg.drafts`, `tg.actions`, `tg.requests`, `tg.violations`."""

    def __init__(
        self,
        token: str = TOKEN,
        port: int = 0,
        *,
        username: str = "tierbot",
        flood: bool = False,
        privacy: bool = False,
    ) -> None:
        """`flood` enforces the real limits on sends and edits; `privacy` hides group messages that are
        not meant for the bot."""
        bot_id = int(token.partition(":")[0])
        super().__init__(User(bot_id, username.capitalize(), username, None, is_bot=True))
        self.token = token
        self.privacy = privacy
        self.extra: Extra | None = None
        """Serves the paths outside the Bot API, if set."""
        self._endpoint = Endpoint(self, token, flood=flood)
        self._listener = Listener(self._handle, port, MAX_BODY)

    @property
    def root(self) -> str:
        """The API's address without /bot<token>; files are under root/file/bot<token>/."""
        return f"http://127.0.0.1:{self.port}"

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        await self.updates.aclose()

    async def go_down(self) -> None:
        """Stop listening and cut every connection; what people say meanwhile waits."""
        self.updates.pause(True)
        if await self._listener.down():
            self.changed()

    async def come_back(self) -> None:
        """Listen (again), on the same port."""
        if await self._listener.up():
            self.updates.pause(False)
            self.changed()

    def revoke(self) -> None:
        """The owner revoked the token: every call answers 401, a waiting poll at once."""
        self._endpoint.revoked = True
        self.updates.interrupt("revoked token")

    def restore(self) -> None:
        """The token is valid again."""
        self._endpoint.revoked = False

    def fault(self, method: str, kind: Kind, *, times: int | None = 1, **details: Any) -> Fault:
        """Adds a failure for the next `times` calls of `method` ("*": any); `Fault` explains the rest."""
        fault = Fault(method=method, kind=kind, times=times, **details)
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

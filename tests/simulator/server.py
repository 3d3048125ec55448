"""Serves simcord, an independent simulator of Discord, over HTTP and a websocket, to a bot in any process.

simcord itself replaces the HTTP client and the gateway of a `discord.Client` in its process. That client is idle here;
simulated users act through it. Permissions, limits, error codes and payloads are simcord's.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace, TracebackType
from typing import Any, Self, TypeVar

import discord
import simcord
from aiohttp import web
from simcord.backend.cdn import CDN_BASE
from simcord.http.router import dispatch

from tests.servers.discord.wire import read_body
from tests.simulator.gateway import Gateway, Json

BASE = "/api/v10"
TOKEN = "simcord.knows.no-tokens"
TIMEOUT_SECONDS = 60.0
"""Timeout of a wait."""
MESSAGE_CONTENT = 1 << 19
"""The flag of an application that may read messages: GATEWAY_MESSAGE_CONTENT_LIMITED."""

TOO_MANY, RETRY_AFTER = 429, 0.3
"""The status of a rate-limited call, and the seconds to wait."""
UNKNOWN_MESSAGE, UNKNOWN_WEBHOOK = 10008, 10015
"""Discord's error codes."""

T = TypeVar("T")


class Now:
    """Replaces simcord's clock, which stands still between its operations."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.elapsed)

    def advance(self, seconds: float) -> None:
        self.elapsed += seconds


class SimcordServer:
    """`async with SimcordServer() as sim:` serves at `sim.root` and `sim.gateway`; `sim.env` is simcord's own world.

    `approved`: the intents that the portal has granted, None for all. `gaps`: requests of the bot that simcord
    does not model; a story with gaps proves nothing.
    """

    def __init__(self, approved: discord.Intents | None = None) -> None:
        self.env = simcord.Env(discord.Client(intents=discord.Intents.all()))
        backend: Any = self.env.backend
        backend.clock = Now()
        self.gaps: list[str] = []
        self.refusals: list[tuple[str, int]] = []
        """Calls that were answered with an error: "METHOD /path", and Discord's code, or HTTP's if there is none."""
        self._content = approved is None or approved.message_content
        self._gateway = Gateway(self.env, approved)
        self._changed = asyncio.Event()
        self._runner: web.ServerRunner | None = None

    @property
    def root(self) -> str:
        return f"http://{self._address}{BASE}"

    @property
    def gateway(self) -> str:
        return f"ws://{self._address}/"

    @property
    def sessions(self) -> int:
        """Number of IDENTIFYs."""
        return self._gateway.sessions

    @property
    def resumed(self) -> int:
        """Number of RESUMEs."""
        return self._gateway.resumed

    def gateway_away(self, *, asked: bool = False) -> AbstractContextManager[None]:
        """Inside the block there are no connections: all break, or bots are `asked` to reconnect."""
        return self._gateway.away(asked=asked)

    def forget_sessions(self) -> None:
        """No session can be resumed."""
        self._gateway.forget()

    def clock(self) -> float:
        """simcord's time in Unix seconds."""
        return self.env.now().timestamp()

    async def __aenter__(self) -> Self:
        # simcord puts its answer to interactions into the context, from which a bot in this process would have it, too.
        await asyncio.create_task(self.env.start())
        self.env.backend.subscribers.append(lambda _, __: self._changed.set())
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._gateway.address = self.gateway
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()
        await asyncio.create_task(self.env.shutdown())
        if error is None:
            self.env.raise_errors()

    async def wait_for(self, condition: Callable[[], T], seconds: float = TIMEOUT_SECONDS) -> T:
        """The condition's first true value, checked after every event and call. Raises AssertionError with the log."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := condition()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not true within {seconds:g} s\n{self.env.transcript()}") from None
        return found

    def bodies(self, method: str, path: str) -> list[Json]:
        """The bodies of the bot's calls to this path, or to one that ends with it."""
        calls = (call for call in self.env.http_requests if call.method == method and call.path.endswith(path))
        return [call.json or {} for call in calls]

    @property
    def _address(self) -> str:
        assert self._runner is not None
        host, port = self._runner.addresses[0][:2]
        return f"{host}:{port}"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._gateway.serve(request)
        if not request.path.startswith(BASE):
            blob = self.env.backend.cdn.get(CDN_BASE + request.path)
            return web.Response(status=404) if blob is None else web.Response(body=blob)
        try:
            return await self._call(request, request.path.removeprefix(BASE))
        finally:
            self._changed.set()

    async def _call(self, request: web.BaseRequest, path: str) -> web.Response:
        body, uploads = await read_body(request)
        files = [
            SimpleNamespace(filename=one.name, fp=io.BytesIO(one.data), description=None)
            for _, one in sorted(uploads.items())
        ]
        call = f"{request.method} {path}"
        try:
            answer = dispatch(
                self.env.backend,
                request.method,
                path,
                json=body,
                params=dict(request.query),
                files=files,
                message_content_access=self._content,
            )
        except (simcord.RouteNotImplemented, simcord.UnsupportedField) as gap:
            self.gaps.append(str(gap))
            return self._response(gap.to_json(), gap.status)
        except simcord.BackendError as error:
            if error.code == UNKNOWN_MESSAGE and path.endswith("/@original") and not self._acknowledged(path):
                error = simcord.BackendError(404, UNKNOWN_WEBHOOK, "Unknown Webhook")  # as Discord says
            self.refusals.append((call, error.code or error.status))
            return self._refused(error)
        except (KeyError, TypeError, ValueError) as error:
            self.gaps.append(f"{call}: {error!r}")
            return self._response({"message": str(error), "code": 0}, 500)
        if path == "/oauth2/applications/@me":  # simcord says no flags, whatever was approved
            answer["flags"] = MESSAGE_CONTENT if self._content else 0
        return self._response(answer)

    def _acknowledged(self, path: str) -> bool:
        """Whether the interaction whose token is in the path has been answered."""
        return self.env.backend.interaction_by_token(path.split("/")[3]).responded

    def _refused(self, error: simcord.BackendError) -> web.Response:
        """simcord does not count calls. The Via header shows the client that Discord refused it."""
        if error.status != TOO_MANY:
            return self._response(error.to_json(), error.status)
        response = self._response(error.to_json() | {"retry_after": RETRY_AFTER, "global": False}, TOO_MANY)
        response.headers.update({"Via": "1.1 google", "X-RateLimit-Scope": "user"})
        return response

    def _response(self, answer: Any, status: int = 200) -> web.Response:
        """Exactly "application/json": the library accepts nothing else as JSON."""
        if answer is None:
            return web.Response(status=204)
        text = json.dumps(answer).replace(CDN_BASE, f"http://{self._address}")
        return web.Response(status=status, body=text.encode(), content_type="application/json")

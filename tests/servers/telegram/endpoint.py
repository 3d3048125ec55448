"""One API call from its HTTP request to its answer; every call is logged, every violation recorded."""

import inspect
import re
import time
from collections.abc import Awaitable
from typing import Any

from aiohttp import web

from tests.servers.injected_faults import Dropped
from tests.servers.listener import drip
from tests.servers.telegram.bot_methods import ASKING
from tests.servers.telegram.errors import ApiError, Breach
from tests.servers.telegram.faults import Fault
from tests.servers.telegram.flood import Flood
from tests.servers.telegram.journal import Request, Violation
from tests.servers.telegram.message_methods import SENDING, send_other
from tests.servers.telegram.parameters import Method, Mismatch
from tests.servers.telegram.rules import prepare
from tests.servers.telegram.schema import SCHEMA
from tests.servers.telegram.values import Json
from tests.servers.telegram.wire import accepted, read_params, refused
from tests.servers.telegram.world import World

METHODS: dict[str, Any] = SENDING | ASKING | {"getUpdates": lambda world, params: world.updates.poll(params)}
_TOKEN_SHAPE = re.compile(r"\d+:[\w-]+")


class Dripping(Exception):
    """The call is done, and its answer must be sent slowly."""

    def __init__(self, result: Any, seconds: float) -> None:
        super().__init__()
        self.result = result
        self.seconds = seconds


class Endpoint:
    """`faults` apply in the order in which they were added; `revoked` makes the token invalid."""

    def __init__(self, world: World, token: str, *, flood: bool) -> None:
        self.faults: list[Fault] = []
        self.revoked = False
        self._world = world
        self._token = token
        self._flood = Flood(time.monotonic) if flood else None

    async def call(self, request: web.BaseRequest) -> web.StreamResponse:
        token, _, name = request.path.removeprefix("/bot").partition("/")
        entry = Request(name, {})
        try:
            entry.params = await read_params(request)
            self._world.requests.append(entry)
            self._authorise(token)
            answer: web.StreamResponse = accepted(await self._run(entry))
            entry.status = 200
        except ApiError as error:
            answer = refused(error)
            entry.status, entry.description = error.code, error.description
            if isinstance(error, Breach):
                self._world.violations.append(Violation(entry.method, error.description, entry.params))
        except Dripping as dripping:
            self._world.changed()
            answer = await drip(request, accepted(dripping.result), dripping.seconds)
            entry.status = 200
        except Dropped:
            entry.description = "connection closed"
            if request.transport is not None:
                request.transport.close()
            return web.Response()
        finally:
            self._world.changed()
        return answer

    def download(self, path: str) -> web.Response:
        """A stored file's bytes."""
        token, _, file_path = path.removeprefix("/file/bot").partition("/")
        try:
            self._authorise(token)
            stored = self._world.file_at(file_path)
        except ApiError as error:
            return refused(error)
        return web.Response(body=stored.data, content_type="application/octet-stream")

    def _authorise(self, token: str) -> None:
        if not _TOKEN_SHAPE.fullmatch(token):
            raise ApiError(404, "Not Found")
        if token != self._token or self.revoked:
            raise ApiError(401, "Unauthorized")

    async def _run(self, entry: Request) -> Any:
        method = SCHEMA.method(entry.method)
        if method is None:
            self._world.violations.append(Violation(entry.method, "no such method", entry.params))
            raise ApiError(404, "Not Found: method not found")
        entry.method = method.name
        entry.params = self._decoded(method, entry.params)
        params = prepare(method.name, entry.params)
        fault = next((fault for fault in self.faults if fault.strikes(method.name, params)), None)
        if fault is not None:
            self._world.changed()
            if error := fault.answer():
                raise error
            await fault.before_the_call()
        self._spend(method.name, params)
        result = METHODS.get(method.name, _unmodelled(method))(self._world, params)
        if inspect.isawaitable(result):
            result = await self._finished(result)
        if fault is not None:
            self._world.changed()
            await fault.after_the_call()
            if fault.kind == "drip":
                raise Dripping(result, fault.seconds)
        return result

    async def _finished(self, pending: Awaitable[Any]) -> Any:
        """The result of a long poll; the token may have been revoked while it waited."""
        try:
            result = await pending
        except ApiError:
            if not self.revoked:
                raise
        if self.revoked:
            raise ApiError(401, "Unauthorized")
        return result

    def _decoded(self, method: Method, raw: Json) -> Json:
        try:
            return method.decode(raw)
        except Mismatch as mismatch:
            raise Breach(str(mismatch)) from None

    def _spend(self, method: str, params: Json) -> None:
        if self._flood is not None and "chat_id" in params and (chat := self._world.chats.get(params["chat_id"])):
            self._flood.spend(method, chat)


def _unmodelled(method: Method) -> Any:
    """A valid call that is not modelled: returns a message if the method does, else true."""
    if method.returns == ("Message",) and "chat_id" in method.parameters:
        return send_other
    return lambda world, params: True

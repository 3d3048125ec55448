"""A model provider on the loopback: four wire formats, vectors, media, a journal, scripted answers and faults."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Final, cast

from aiohttp import web

from tests.servers.listener import Leaving, Listener
from tests.servers.model import ollama, wire_media
from tests.servers.model.checks import violations
from tests.servers.model.control import Control, Refused
from tests.servers.model.delivery import deliver, hold, refuse, send
from tests.servers.model.failures import failure, refusal
from tests.servers.model.frames import dump
from tests.servers.model.journal import Journal
from tests.servers.model.listing import MODELS, described, listing
from tests.servers.model.ollama import OllamaModel
from tests.servers.model.request import ModelRequest, target
from tests.servers.model.script import Failure
from tests.servers.model.scripting import Scripting

_BODY_LIMIT: Final = 32 * 1024 * 1024
"""Bytes; Anthropic's limit for one request, the smallest of the three."""


class ModelServer(Leaving, Scripting):
    """`async with ModelServer() as ms`: answers at `ms.root` until the block ends.

    Requests are validated first (400 with `violations`), then served by the next script that fits.
    """

    def __init__(self, port: int = 0, host: str = "127.0.0.1", keep: int | None = None) -> None:
        super().__init__()
        self.journal = Journal(keep)
        self.models = {provider: list(names) for provider, names in MODELS.items()}
        self.parameter_sizes: dict[str, str] = {}
        self.tells_sizes = asyncio.Event()
        self.tells_sizes.set()
        self.ollama: dict[str, OllamaModel] | None = None
        self.bad_keys: set[str] = set()
        self.missing_models: set[str] = set()
        self.on_finish: Callable[[ModelRequest], None] | None = None
        self._control = Control(self)
        self._listener = Listener(self._handle, port, _BODY_LIMIT, host)

    @property
    def root(self) -> str:
        return f"http://{self._listener.host}:{self.port}"

    @property
    def openai_base(self) -> str:
        return f"{self.root}/v1"

    @property
    def gemini_base(self) -> str:
        """LiteLLM appends `/models/…` to Gemini's base, so it carries the version."""
        return f"{self.root}/v1beta"

    def vendor(self, name: str) -> str:
        """The root of another vendor on the same server: requests there have `vendor == name`."""
        return f"{self.root}/{name}"

    @property
    def calls(self) -> list[ModelRequest]:
        """Requests for an answer, in order of arrival."""
        return self.journal.calls

    @property
    def media(self) -> list[ModelRequest]:
        """Requests for a transcript, a sound or a picture, in order of arrival."""
        return self.journal.media

    @property
    def last(self) -> ModelRequest:
        """The newest request for an answer."""
        return self.calls[-1]

    def for_model(self, name: str) -> list[ModelRequest]:
        return [request for request in self.calls if request.model == name]

    async def wait_requests(self, count: int) -> list[ModelRequest]:
        """Waits until `count` requests for an answer came in; TimeoutError after a minute."""
        await self.journal.wait(lambda: len(self.calls) >= count, 60.0)
        return self.calls

    async def go_down(self) -> None:
        """Refuses connections and breaks open ones, like a dead host. The port stays reserved."""
        if self.is_up:
            for request in self.journal:
                request.finish("stopped")
        await super().go_down()

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        if http.path.startswith("/control/"):
            return await self._controlled(http)
        request = _entry(http, self.journal.next_number())
        try:
            request.raw = await http.read()
            return await self._answer(request, http)
        except asyncio.CancelledError:
            request.finish("cut")
            raise
        except ConnectionError:
            request.finish("cut")
            return web.Response()
        finally:
            if self.on_finish is not None:
                self.on_finish(request)

    async def _controlled(self, http: web.BaseRequest) -> web.StreamResponse:
        try:
            given = json.loads(await http.read() or "{}") if http.method == "POST" else dict(http.query)
            answer, status = self._control.act(http.method, http.path.removeprefix("/control/"), given), 200
        except (Refused, ValueError) as error:
            answer, status = {"error": str(error)}, 400
        return web.Response(body=dump(answer), status=status, content_type="application/json")

    async def _answer(self, request: ModelRequest, http: web.BaseRequest) -> web.StreamResponse:
        problem = _parse(request)
        self.journal.add(request)
        if refused := problem or self._refusal(request):
            return await refuse(refused, request, http)
        if request.endpoint == "models":
            names = self.models[request.provider]
            return await send(dump(listing(request.provider, names)), request, http)
        if request.endpoint == "tags":
            return await send(dump(ollama.tags(self.ollama or {})), request, http)
        if request.endpoint == "ps":
            return await send(dump(ollama.running(self.ollama or {})), request, http)
        if request.endpoint == "show":
            await self.tells_sizes.wait()
            if self.ollama is not None:
                return await send(dump(ollama.shown(self.ollama[request.model])), request, http)
            return await send(dump(described(self.parameter_sizes.get(request.model, "8.0B"))), request, http)
        script = self.take(request)
        await hold(script, request)
        if script.fault == "hang":
            script = self.by_default(request)
        return await deliver(script, request, http)

    def _refusal(self, request: ModelRequest) -> Failure | None:
        """The refusal of a request with an unknown path, a wrong key, an invalid body or an unknown model."""
        if request.endpoint == "unknown":
            return failure(404, "not_found", f"Unknown request URL: {request.method} {request.path}")
        if (not request.key and request.provider != "ollama") or request.key in self.bad_keys:
            return failure(401)
        if request.endpoint not in ("models", "tags", "ps") and (found := violations(request)):
            return refusal(found)
        if self.ollama is not None and request.vendor == ollama.VENDOR:
            return ollama.refusal(request, self.ollama)
        if request.model in self.missing_models:
            return failure(404)
        return None


def _entry(http: web.BaseRequest, number: int) -> ModelRequest:
    headers = {name.lower(): value for name, value in http.headers.items()}
    query = cast("dict[str, str]", dict(http.query)) if http.query_string else {}
    to = target(http.method, http.path, query, headers)
    return ModelRequest(number, time.time(), http.method, http.path, headers, query, to)


def _parse(request: ModelRequest) -> Failure | None:
    if request.method != "POST":
        return None
    try:
        if request.endpoint == "transcriptions":
            body, request.upload = wire_media.form(request.headers.get("content-type", ""), request.raw)
        else:
            body = json.loads(request.raw)
    except ValueError as error:
        return refusal([f"the body is not JSON: {error}"])
    if not isinstance(body, dict):
        return refusal(["the body is not a JSON object"])
    request.body = body
    return None

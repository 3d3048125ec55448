"""A small JSON interface under /control/, for the page at / and for other processes (benchmarks, scripts).

POST /control/<command> with a JSON object; the answer is the created object. `COMMANDS` lists them, and each
function's keyword arguments are the accepted fields. GET /control/state?since=SEQ&wait=SECONDS answers with what
changed after SEQ, at once or as soon as something does. GET /control/file?id=FILE_ID is a file that was sent.
"""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web

from tests.servers.telegram.control_commands import COMMANDS, say_many
from tests.servers.telegram.server import TelegramServer
from tests.servers.telegram.values import Json
from tests.servers.telegram.views import state

PAGE = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
"""Read once at import, so that no event loop waits for the disk."""
MAX_WAIT = 50.0
"""Seconds a state request may wait for a change."""


class Control:
    """`handle` serves the paths that are not the Bot API's."""

    def __init__(self, server: TelegramServer) -> None:
        self._tg = server
        self._outages: set[asyncio.Task[None]] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/":
            return web.Response(text=PAGE, content_type="text/html")
        name = request.path.removeprefix("/control/")
        if name == "state":
            return web.json_response(await self._state(request))
        if name == "file":
            return self._file(request.query.get("id", ""))
        if name not in COMMANDS and name not in ("say_many", "outage"):
            return web.json_response({"error": f"no such path {request.path}"}, status=404)
        try:
            body = json.loads(await request.read() or b"{}")
            return web.json_response(await self._run(name, body))
        except (AssertionError, KeyError, LookupError, TypeError, ValueError) as error:
            return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)

    def _file(self, file_id: str) -> web.Response:
        """Always as a download, because it may be anything."""
        stored = self._tg.files.get(file_id)
        if stored is None:
            return web.json_response({"error": f"no file {file_id!r}"}, status=404)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(stored.name)}"}
        return web.Response(body=stored.data, content_type="application/octet-stream", headers=headers)

    async def _run(self, name: str, body: Json) -> Any:
        if name == "say_many":
            return await say_many(self._tg, **body)
        if name == "outage":
            task = asyncio.create_task(self._go_away(**body))
            self._outages.add(task)
            task.add_done_callback(self._outages.discard)
            return {"ok": True}
        return COMMANDS[name](self._tg, **body)

    async def _go_away(self, seconds: float) -> None:
        """Goes down shortly after the answer was sent, and comes back later."""
        await asyncio.sleep(0.05)
        async with self._tg.outage():
            await asyncio.sleep(seconds)

    async def _state(self, request: web.BaseRequest) -> Json:
        since = int(request.query.get("since", 0))
        wait = min(float(request.query.get("wait", 0)), MAX_WAIT)
        if wait > 0 and self._tg.seq <= since:
            await self._tg.wait_for_change(wait)
        return state(self._tg, since)

"""A website on 127.0.0.1, which may also be a search service."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from tests.servers.listener import Leaving, Listener

Page = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] | web.Response | str | bytes | object


class Website(Leaving):
    """`pages` by path: an HTML text, JSON, an answer, or a function of the request. `asked` are the requests."""

    def __init__(self, **pages: Page) -> None:
        self.pages: dict[str, Page] = {f"/{name}": page for name, page in pages.items()}
        self.asked: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self._listener = Listener(self._handle, 0, 2**20)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/page") -> str:
        return f"http://{self.host}{path}"

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        page = self.pages.get(request.path)
        if callable(page):
            answer: web.StreamResponse = await page(request)
            return answer
        if isinstance(page, web.Response):
            return web.Response(status=page.status, headers=page.headers, body=page.body)
        if isinstance(page, str):
            return web.Response(text=page, content_type="text/html")
        if page is None:
            return web.Response(status=404, text="nothing here")
        return web.Response(body=json.dumps(page).encode(), content_type="application/json")

    def params(self) -> dict[str, Any]:
        """The query of the newest request."""
        return dict(self.asked[-1].query)


def redirect(target: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": target})

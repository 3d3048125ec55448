"""What holds for every request: the Host header, the size of the body, and the headers of the answer."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.admin.access import is_address_or_local

MAX_BODY_BYTES = 2**20
DISCARDED_BYTES = 32 * 2**20
"""A larger body is read up to here, because a client that is still sending would not see the answer."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
CACHE = "Cache-Control"


class SecurityHeaders:
    """Adds HEADERS to every answer, and forbids to store it unless it says otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault(CACHE, "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


class LocalHosts:
    """Refuses requests whose Host is a name, against DNS rebinding. For a listener on the loopback. `also` is the name
    of a proxy in front of it."""

    def __init__(self, app: ASGIApp, also: str = "") -> None:
        self._app = app
        self._also = also.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        if is_address_or_local(host) or (self._also and host.partition(":")[0].lower() == self._also):
            await self._app(scope, receive, send)
        else:
            words = (
                "This address is only for this machine: open it as localhost or 127.0.0.1. A reverse proxy needs its "
                "name in ADMIN_URL."
            )
            await PlainTextResponse(words, 421)(scope, receive, send)


class LimitedBody:
    """Answers 413 to a body of more than MAX_BODY_BYTES. The app gets bodies that are complete."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, size, more = bytearray(), 0, True
        while more and size <= DISCARDED_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            part = message.get("body", b"")
            size += len(part)
            if size <= MAX_BODY_BYTES:
                body += part
            more = message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            words = f"The request is larger than {MAX_BODY_BYTES // 2**20} MB. Nothing was changed."
            await PlainTextResponse(words, 413, {"Connection": "close"})(scope, receive, send)
            return
        waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def received() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, received, send)

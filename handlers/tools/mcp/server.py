"""Our toolkits as an MCP server, for any client of the protocol. Imports the SDK: import it when it is to be served."""

from __future__ import annotations

import hmac
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.tools.mcp.hints import HINTS, RAW, write_hints
from handlers.tools.mcp.rejects import Rejects
from routing.errors import ConfigError, TierbotError
from routing.types.toolkits import ToolCard, Toolkit
from routing.types.tools import Traits

Run = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Runs a tool by name; the text is for the model. Raises ToolFailed."""
TraitsOf = Callable[[str], Traits]

TOKEN = "TIERBOT_MCP_TOKEN"
SHORTEST_TOKEN = 16
PATH = "/mcp"


log = logging.getLogger("handlers.tools.mcp")


async def serve(
    toolkits: Sequence[Toolkit],
    run: Run,
    *,
    http: str = "",
    token: str = "",
    version: str = "",
    traits: TraitsOf | None = None,
) -> None:
    """Offer the tools until the client hangs up (stdio), or until the process is told to end (HTTP).

    `http` is HOST:PORT, or :PORT for the loopback; empty is stdio, where stdout belongs to the protocol. Over HTTP
    everybody must give the `token`. Raises ConfigError for an address or a token that will not do.
    """
    server = _server(toolkits, run, version, traits)
    if not http:
        async with Rejects().through(stdio_server()) as (reading, writing):
            await server.run(reading, _Outbound(writing), server.create_initialization_options(NotificationOptions()))
            sys.stdout.flush()  # what somebody printed goes to stderr as long as the SDK holds stdout
        return
    host, port = _address(http)
    if len(token) < SHORTEST_TOKEN:
        raise ConfigError(
            f"Over HTTP anyone could call the tools: set {TOKEN} to at least {SHORTEST_TOKEN} characters."
        )
    app = _Gate(server.streamable_http_app(streamable_http_path=PATH, host=host), token)
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(f"{http} can't be served at: {error.strerror or error}.") from error
    with bound:
        log.info("[MCP] Serving at http://%s%s", http, PATH)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=3)
        await uvicorn.Server(config).serve(sockets=[bound])


def _server(toolkits: Sequence[Toolkit], run: Run, version: str, traits: TraitsOf | None) -> Server[Any]:
    tools = [_tool(card, traits) for toolkit in toolkits for card in toolkit.tools]
    about = "\n".join(f"{toolkit.name}: {toolkit.description}" for toolkit in toolkits)

    async def listed(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def called(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text, failed = await run(params.name, params.arguments or {}), False
        except TierbotError as error:
            text, failed = str(error), True
        except Exception as error:  # whatever a tool's author did not foresee: the client is told, the log has it
            log.exception("[MCP] %s failed", params.name)
            text, failed = f"{params.name} failed internally ({type(error).__name__}).", True
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    return Server("tierbot", version=version, instructions=about, on_list_tools=listed, on_call_tool=called)


def _tool(card: ToolCard, traits: TraitsOf | None) -> types.Tool:
    """With its longest text for those who know nothing of the hints."""
    text = card.texts["XL"]
    changes = traits(card.name).changes if traits else None
    return types.Tool(
        name=card.name,
        description=text.description,
        input_schema=dict(text.parameters),
        annotations=None if changes is None else types.ToolAnnotations(read_only_hint=not changes),
        _meta={HINTS: write_hints(card)},
    )


class _Outbound:
    """The writing end of stdio, the SDK's `WriteStream`. The SDK drops fields of a tool that it does not know, so the
    hints are repeated behind it as a field of their own, for clients that look for them there."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def send(self, item: SessionMessage) -> None:
        match item.message:
            case types.JSONRPCResponse(result={"tools": list(tools)}):
                for tool in tools:
                    tool[RAW] = tool["_meta"][HINTS]
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Outbound:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _address(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"{http} is no address: give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Gate:
    """Lets in who has the token. A browser that some page sends here has none, and is turned away by its Origin, too;
    on the loopback the SDK sees to the Host."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(dict(scope["headers"])) if scope["type"] == "http" else None
        if scope["type"] == "websocket":
            return
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Mapping[bytes, bytes]) -> PlainTextResponse | None:
        scheme, _, given = headers.get(b"authorization", b"").strip().partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._token):
            words = f"Give the token of {TOKEN}: Authorization: Bearer <token>"
            return PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})
        host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin", b"").decode("latin-1")
        if origin and urlsplit(origin).netloc != host:
            return PlainTextResponse("Invalid Origin header", 403)
        return None

"""Serves our toolkits over MCP. Imports the SDK and a web server, so import it late."""

from __future__ import annotations

import hmac
import json
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.tools.authoring.hints import HINTS, RAW, write_hints
from handlers.tools.mcp.filters import ReadFilter, StreamFilter
from handlers.tools.mcp.text import hidden_fault
from routing.error_boundary import ErrorBoundary
from routing.errors import ConfigError, TierbotError
from routing.types.toolkits import ToolCard, Toolkit
from routing.types.tools import Traits

Run = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""Runs a tool by name; the text is for the model. Raises ToolFailed."""
TraitsOf = Callable[[str], Traits]

TOKEN = "TIERBOT_MCP_TOKEN"
MIN_TOKEN_CHARACTERS = 16
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
    """Offer the tools until the client disconnects (stdio), or until the process is told to end (HTTP).

    `http` is HOST:PORT, or :PORT for the loopback; empty means stdio, where stdout belongs to the protocol. Over HTTP
    every client must send the `token`. Raises ConfigError for an invalid address or token.
    """
    server = _server(toolkits, run, version, traits)
    if not http:
        async with stdio_server() as (reading, writing):
            incoming, outgoing = ClientMessages(reading, writing), _HintedMessages(writing)
            await server.run(incoming, outgoing, server.create_initialization_options(NotificationOptions()))
            sys.stdout.flush()  # the SDK directs what tools print to stderr as long as it holds stdout
        return
    host, port = _address(http)
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise ConfigError(
            f"Over HTTP anyone could call the tools: set {TOKEN} to at least {MIN_TOKEN_CHARACTERS} characters."
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

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        with ErrorBoundary(log, "[MCP] %s failed", params.name) as boundary:
            try:
                text, failed = await run(params.name, params.arguments or {}), False
            except TierbotError as error:
                text, failed = str(error), True
        if boundary.error is not None:
            text, failed = f"{params.name} failed internally ({type(boundary.error).__name__}).", True
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    return Server("tierbot", version=version, instructions=about, on_list_tools=list_tools, on_call_tool=call_tool)


def _tool(card: ToolCard, traits: TraitsOf | None) -> types.Tool:
    """The tool with its longest text, for clients that don't use the hints."""
    text = card.texts["XL"]
    changes = traits(card.name).changes if traits else None
    return types.Tool(
        name=card.name,
        description=text.description,
        input_schema=dict(text.parameters),
        annotations=None if changes is None else types.ToolAnnotations(read_only_hint=not changes),
        _meta={HINTS: write_hints(card)},
    )


class ClientMessages(ReadFilter):
    """Answers requests over stdio that the SDK can't parse. It would drop them, and the client would wait forever."""

    def __init__(self, stream: Any, writing: Any) -> None:
        super().__init__(stream)
        self._writing = writing

    async def passes(self, item: SessionMessage | Exception) -> bool:
        if isinstance(item, ValidationError) and (request := _unparsed_request(item)):
            error = types.ErrorData(code=types.PARSE_ERROR, message=_parse_fault(request, item))
            answer = types.JSONRPCError(jsonrpc="2.0", id=request["id"], error=error)
            await self._writing.send(SessionMessage(answer))
        return True


def _unparsed_request(fault: ValidationError) -> dict[str, Any] | None:
    """The request that could not be parsed; None if it has no valid id."""
    for each in fault.errors():
        try:
            found = json.loads(each["input"]) if isinstance(each["input"], str) else each["input"]
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("method"), str):
            number = found.get("id")
            if type(number) is int or (isinstance(number, str) and not hidden_fault(number)):
                return found
    return None


def _parse_fault(request: Mapping[str, Any], fault: ValidationError) -> str:
    reason = hidden_fault(request)
    return f"The request {reason}." if reason else f"The request can't be read: {fault.errors()[0]['msg']}."


class _HintedMessages(StreamFilter):
    """Repeats the hints at a tool's top level, for clients that look for them there. The SDK drops unknown fields."""

    async def send(self, item: SessionMessage) -> None:
        match item.message:
            case types.JSONRPCResponse(result={"tools": list(tools)}):
                for tool in tools:
                    tool[RAW] = tool["_meta"][HINTS]
        await self.stream.send(item)


def _address(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not (port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"{http} is not an address: give HOST:PORT, such as 127.0.0.1:8765.")
    return host.strip("[]") or "127.0.0.1", int(port)


class _Gate:
    """Accepts only clients with the token, and rejects requests from web pages of another origin. On the loopback the
    SDK checks the Host header."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(dict(scope["headers"])) if scope["type"] == "http" else None
        if scope["type"] != "websocket":
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

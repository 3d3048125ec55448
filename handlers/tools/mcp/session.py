"""One session with a server. It runs in one task; calls come from other tasks."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError, types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from handlers.tools.mcp.config import Command, Endpoint, Limits, Server
from handlers.tools.mcp.filters import ServerMessages
from handlers.tools.mcp.listing import Offer, read_listing
from handlers.tools.mcp.schemas import MAX_DEPTH, is_deeper
from handlers.tools.mcp.text import json_fault, readable
from handlers.tools.mcp.transport import Diagnosis, http, stdio
from handlers.version import VERSION
from routing.errors import Reason, ToolFailed, system_reason
from routing.text import storable

_REFRESH_FACTOR = 10
"""Minimum pause before the next list of tools, as a multiple of the time that the last one took."""
_ERROR_CHARACTERS = 2_000
_REASON_CHARACTERS = 600
_LOG_LINES, _LOG_CHARACTERS = 3, 300
_TERMINATED = "Session terminated"
"""The SDK's message if an HTTP server no longer knows the session and so did not run the call."""

# They log everything that servers send, including secrets. The state of a server has what matters.
for _name, _level in (("mcp", logging.CRITICAL), ("client", logging.CRITICAL), ("httpx2", logging.WARNING)):
    logging.getLogger(_name).setLevel(_level)


class Unresponsive(Exception):
    """The server does not answer; `reason` is a clause."""

    def __init__(self, template: str, /, **values: object) -> None:
        self.reason = Reason(template, **values)
        super().__init__(str(self.reason))


_EXPECTED = (
    asyncio.CancelledError,  # the SDK ends its own tasks in this way
    Unresponsive,
    MCPError,
    OSError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    RuntimeError,
    ValueError,
    OverflowError,
)
"""What a server, its entry in mcp.json or the SDK can cause. Anything else is a bug."""


class Session:
    """A session of a `Connection`."""

    def __init__(self, server: Server, prefix: str, taken: Collection[str], limits: Limits) -> None:
        self._server = server
        self._prefix = prefix
        self._taken = taken
        self._limits = limits
        self._info = types.Implementation(name="tierbot", version=VERSION)
        self._diagnosis = Diagnosis()
        self._messages = ServerMessages(limits)
        self._client: Client | None = None
        self._refresh_requested = False
        self._suspected_at = -math.inf
        self._start_seconds = max(limits.start_seconds, server.seconds)

    async def run(self, publish: Callable[[Offer], None], legacy: bool) -> None:
        """Connect, list the tools, and return when the server disconnects. `legacy` skips the probe for the protocol of
        2026, which crashes some older servers. May raise any exception; `reason` describes it."""
        transport = self._messages.filtered(self._transport())
        mode = "legacy" if legacy else "auto"
        with anyio.CancelScope(deadline=anyio.current_time() + self._start_seconds) as starting:
            async with Client(transport, mode=mode, cache=None, client_info=self._info) as client:
                offer = await self._list_tools(client)
                self._client, starting.deadline = client, math.inf
                publish(offer)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._subscribe, client)
                    try:
                        await self._refresh(client, publish)
                    finally:
                        self._client = None
                        tasks.cancel_scope.cancel()
        if starting.cancelled_caught:
            raise Unresponsive("it did not answer within {seconds:g} s", seconds=self._start_seconds)
        if not self._messages.over.is_set():  # this task was cancelled, and a cancel scope inside took that for its own
            raise asyncio.CancelledError

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The result as text; None if the server did not receive the call. Raises ToolFailed."""
        client, seconds, server = self._client, self._server.seconds, self._server.name
        if client is None:
            return None
        if is_deeper(arguments):
            raise ToolFailed(f"The arguments of {tool} are nested deeper than {MAX_DEPTH} levels: give simpler ones.")
        if fault := json_fault(arguments):
            raise ToolFailed(f"The arguments of {tool} can't be sent: one {fault}. Give others.")
        try:
            async with asyncio.timeout(seconds):
                result = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            self._request_refresh()
            raise ToolFailed(
                f"{tool} of {server} did not answer within {seconds:g} s and was told to stop; it may have done "
                "part of its work. Ask for less, or go on without it."
            ) from None
        except MCPError as error:
            if error.message == _TERMINATED:
                self._messages.end()
                return None
            raise self._call_failure(tool, error) from None
        except (ValidationError, RuntimeError, ValueError) as error:  # the SDK's, for a wrong answer
            raise ToolFailed(f"{server} answered {tool} with an invalid result ({type(error).__name__}).") from None
        text = result_text(result, self._limits.result_chars, self._server.hidden)
        if result.is_error:
            # Usually the tool itself failed, but some servers report a removed tool in this way.
            if monotonic() - self._suspected_at >= self._limits.suspect_seconds:
                self._suspected_at = monotonic()
                self._request_refresh()
            raise ToolFailed(f"{tool} of {server} failed: {readable(text, _ERROR_CHARACTERS) or 'it does not say why'}")
        return text

    def reason(self, error: BaseException | None) -> Reason:
        """Why the connection ended, for the owner, without secrets. The first error of a group counts."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        hidden, words = self._server.hidden, self._diagnosis.reason or _reason(error)
        lines = [line.strip() for line in hidden(self._diagnosis.log).splitlines() if line.strip()]
        last = " · ".join(lines[-_LOG_LINES:])[-_LOG_CHARACTERS:]
        reason = (
            Reason("{reason}; last output: {output}", reason=words, output=last)
            if last
            else Reason("{reason}", reason=words)
        )
        return reason.changed(lambda text: readable(hidden(text), _REASON_CHARACTERS))

    def is_bug(self, error: BaseException | None) -> bool:
        """Whether an error of `run`, or one in its group, is of a kind that no server can cause."""
        if isinstance(error, BaseExceptionGroup):
            return any(map(self.is_bug, error.exceptions))
        return error is not None and not isinstance(error, _EXPECTED)

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        match self._server.reached:
            case Command() as command:
                return stdio(command, self._limits, self._diagnosis)
            case Endpoint() as endpoint:
                return http(endpoint, self._limits, self._diagnosis)
        raise Unresponsive("it can't be reached")

    def _request_refresh(self) -> None:
        """List the tools again soon. A server that does not answer that either is reconnected."""
        self._refresh_requested = True
        self._messages.wake.set()

    def _call_failure(self, tool: str, error: MCPError) -> ToolFailed:
        if error.code == types.CONNECTION_CLOSED:
            return ToolFailed(
                f"The MCP server {self._server.name} ended in the middle of {tool}, which may have done part of its "
                "work. It restarts by itself: check what was done before you call it again."
            )
        self._request_refresh()  # the tool may have been renamed
        message = readable(self._server.hidden(error.message), _ERROR_CHARACTERS)
        return ToolFailed(f"{tool} of {self._server.name} failed: {message}")

    async def _refresh(self, client: Client, publish: Callable[[Offer], None]) -> None:
        """List the tools again whenever they may have changed, until the stream ends."""
        messages = self._messages
        while not messages.over.is_set():
            await messages.wake.wait()
            messages.wake.clear()
            if messages.over.is_set() or not (messages.changed or self._refresh_requested):
                continue
            await anyio.sleep(self._limits.debounce_seconds)
            self._refresh_requested, began = False, monotonic()
            with anyio.move_on_after(self._start_seconds) as scope:
                publish(await self._list_tools(client))
            if scope.cancelled_caught:
                raise Unresponsive("it did not list its tools within {seconds:g} s", seconds=self._start_seconds)
            pause = max(self._limits.refresh_seconds, _REFRESH_FACTOR * (monotonic() - began))
            with anyio.move_on_after(pause):
                await messages.over.wait()

    async def _list_tools(self, client: Client) -> Offer:
        messages, cursor = self._messages, None
        messages.begin_list()
        names: set[str] = set()
        for _ in range(self._limits.pages if client.server_capabilities.tools else 0):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            names.update(tool.name for tool in page.tools)
            cursor = page.next_cursor
            if not cursor or len(names) >= self._limits.tools:
                break
        info = client.server_info
        about = client.instructions or (info and (info.description or info.title or info.name)) or ""
        listed, messages.tools = messages.tools, {}
        listed = {name: tool for name, tool in listed.items() if name in names}  # the SDK drops some with wrong headers
        return await asyncio.to_thread(
            read_listing, self._server, self._prefix, about, listed, self._taken, self._limits, messages.left_out
        )

    async def _subscribe(self, client: Client) -> None:
        """Subscribe to changes of the tools, as the protocol of 2026 requires. `ServerMessages` handles them."""
        tools = client.server_capabilities.tools
        while client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        pass
            except (MCPError, RuntimeError, TimeoutError, ValueError):
                pass
            await anyio.sleep(self._limits.steady_seconds)
            self._request_refresh()


def _reason(error: BaseException | None) -> Reason:
    """Why a connection ended, as a clause."""
    match error:
        case None | MCPError(code=types.CONNECTION_CLOSED):
            return Reason("it closed the connection")
        case Unresponsive():
            return error.reason
        case FileNotFoundError():
            words = "{file} is not there: install it, or fix command or cwd in mcp.json"
            return Reason(words, file=str(error.filename))
        case OSError():
            return Reason("it can't be started ({error})", error=system_reason(error))
        case MCPError():
            return Reason("it answers: {error}", error=error.message)
        case httpx2.TransportError():
            return Reason("it can't be reached ({error})", error=_network(error))
        case ValidationError() | RuntimeError():
            return Reason("it does not speak the protocol")
        case httpx2.InvalidURL():
            return Reason("its url in mcp.json is not an address ({error})", error=str(error))
        case ValueError() | OverflowError():
            words = "its entry in mcp.json, or what it sends, can't be used ({error})"
            encoding = Reason("characters that can't be encoded in UTF-8")
            return Reason(words, error=encoding if isinstance(error, UnicodeError) else str(error))
    return Reason("it failed ({error})", error=type(error).__name__)


def _network(error: BaseException) -> str:
    """Why a host can't be reached: what the system said, if it said anything."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return Reason("its host name is not known")
        if isinstance(cause, OSError) and cause.errno:
            return system_reason(cause)
        causes = cause.exceptions if isinstance(cause, BaseExceptionGroup) else (cause.__cause__ or cause.__context__,)
        cause = causes[0]
    return str(error) or type(error).__name__


def result_text(result: types.CallToolResult, max_chars: int, hidden: Callable[[str], str] = str) -> str:
    """The result as text, with notes in place of pictures, audio and files. `hidden` removes secrets, before the text
    is cut, which could leave half of a secret."""
    texts = [text for block in result.content if (text := _block_text(block))]
    structured = result.structured_content
    if structured is not None and not _says(texts, structured):
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = hidden(storable("\n\n".join(texts)))
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[cut: the result has {len(text):,} characters; ask for less]"


def _block_text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {_size(block.data)}: it can't be shown here]"
        case types.ResourceLink():
            return f"[resource {' '.join(_known(block.name, block.uri, block.mime_type, block.description))}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as held):
            return f"[resource {held.uri}]\n{held.text}"
        case types.EmbeddedResource(resource=types.BlobResourceContents() as held):
            return f"[file {' '.join(_known(held.uri, held.mime_type))}, {_size(held.blob)}: it can't be shown here]"
    return ""


def _known(*words: str | None) -> Iterator[str]:
    return (word for word in words if word)


def _size(base64: str) -> str:
    size = len(base64) * 3 // 4
    return f"{size / 1000:,.0f} kB" if size >= 1000 else f"{size} bytes"


def _says(texts: Sequence[str], structured: object) -> bool:
    """Whether one of the texts repeats the structured content, as the protocol asks for, or the only value in it."""
    only = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    return any(text == only or _parsed(text) in (structured, only) for text in texts)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

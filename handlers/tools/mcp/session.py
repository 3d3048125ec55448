"""One connection to a server, from its start to its end, in the task that runs it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from time import monotonic
from typing import Any

import anyio
from mcp import Client, MCPError, types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from handlers.tools.mcp.faults import Forgotten, Hung
from handlers.tools.mcp.http import http
from handlers.tools.mcp.inbound import Inbound
from handlers.tools.mcp.limits import MOST_DEPTH, Limits, is_deeper
from handlers.tools.mcp.notes import Notes
from handlers.tools.mcp.offers import Listing, Offer
from handlers.tools.mcp.pipes import pipes
from handlers.tools.mcp.reading import read_listing
from handlers.tools.mcp.reasons import reason_of
from handlers.tools.mcp.results import told
from handlers.tools.mcp.servers import Command, Endpoint, Server
from handlers.tools.mcp.texts import readable
from routing.errors import ToolFailed

_PATIENCE = 10
"""A list is asked for again after so many times what the last one took."""
_LONGEST_ERROR = 2_000
_TERMINATED = "Session terminated"
"""The SDK's words for a server that has forgotten us; it has not run the call."""

# They print what servers send, secrets and floods included. What matters is in a server's state.
for _name, _level in (("mcp", logging.CRITICAL), ("client", logging.CRITICAL), ("httpx2", logging.WARNING)):
    logging.getLogger(_name).setLevel(_level)


class Session:
    """What a `Connection` holds while it is connected."""

    def __init__(self, server: Server, prefix: str, taken: Collection[str], limits: Limits, version: str) -> None:
        self._server = server
        self._prefix = prefix
        self._taken = taken
        self._limits = limits
        self._info = types.Implementation(name="tierbot", version=version)
        self._notes = Notes()
        self._inbound = Inbound(limits)
        self._client: Client | None = None
        self._doubtful = False
        self._suspected = -math.inf
        self._patience = max(limits.start_seconds, server.seconds)

    async def run(self, publish: Callable[[Offer], None], legacy: bool) -> None:
        """Connect, list, and stay until the server hangs up. `legacy` leaves out the question for the protocol of
        2026, which a server of before may not bear. Raises whatever goes wrong; `reason` puts it into words."""
        with anyio.CancelScope(deadline=anyio.current_time() + self._patience) as starting:
            async with Client(
                self._inbound.transport(self._door()),
                mode="legacy" if legacy else "auto",
                cache=None,
                client_info=self._info,
            ) as client:
                offer = await self._listed(client)
                self._client, starting.deadline = client, math.inf
                publish(offer)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._subscribe, client)
                    try:
                        await self._stay(client, publish)
                    finally:
                        self._client = None
                        tasks.cancel_scope.cancel()
        if starting.cancelled_caught:
            raise Hung(f"it did not answer within {self._patience:g} s")
        if (
            not self._inbound.over.is_set()
        ):  # we were cancelled, and a cancel scope of the SDK or ours took it for its own
            raise asyncio.CancelledError

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The result as text. Raises ToolFailed, and Forgotten."""
        client, seconds, server = self._client, self._server.seconds, self._server.name
        if client is None:
            raise Forgotten
        if is_deeper(arguments):
            raise ToolFailed(f"The arguments of {tool} are nested deeper than {MOST_DEPTH} levels: give simpler ones.")
        try:
            async with asyncio.timeout(seconds):
                result = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            self._doubt()
            raise ToolFailed(
                f"{tool} of {server} did not answer within {seconds:g} s and was told to stop; it may have done "
                "part of its work. Ask for less, or go on without it."
            ) from None
        except MCPError as error:
            raise self._failed(tool, error) from None
        except (ValidationError, RuntimeError, ValueError) as error:  # what the SDK makes of a wrong answer
            raise ToolFailed(f"{server} answered {tool} with an invalid result ({type(error).__name__}).") from None
        text = told(result, self._limits.result_chars, self._server.hidden)
        if result.is_error:
            self._suspect()
            raise ToolFailed(f"{tool} of {server} failed: {readable(text, _LONGEST_ERROR) or 'it does not say why'}")
        return text

    def reason(self, error: BaseException | None) -> str:
        """Why the connection ended, for the owner, without secrets."""
        notes = self._notes
        words = notes.reason or notes.refused or reason_of(error)
        said = notes.last(self._server.hidden)
        return readable(self._server.hidden(f"{words}; last output: {said}" if said else words), 600)

    def _door(self) -> AbstractAsyncContextManager[Any]:
        match self._server.reached:
            case Command() as command:
                return pipes(command, self._limits, self._notes)
            case Endpoint() as endpoint:
                return http(endpoint, self._limits, self._notes)
            case None:
                raise Hung("it can't be reached")

    def _doubt(self) -> None:
        """A call was not answered: ask for the list; a server that does not answer that either is connected anew."""
        self._doubtful = True
        self._inbound.woken.set()

    def _suspect(self) -> None:
        """A tool failed: mostly for a reason of its own, but some servers say so that there is no such tool."""
        if monotonic() - self._suspected >= self._limits.doubt_seconds:
            self._suspected = monotonic()
            self._doubt()

    def _failed(self, tool: str, error: MCPError) -> Exception:
        if error.message == _TERMINATED:
            self._inbound.end()
            return Forgotten()
        if error.code == types.CONNECTION_CLOSED:
            return ToolFailed(
                f"The MCP server {self._server.name} ended in the middle of {tool}, which may have done part of its "
                "work. It restarts by itself: check what was done before you call it again."
            )
        self._doubt()  # an unknown tool: perhaps they have other names now
        message = readable(self._server.hidden(error.message), _LONGEST_ERROR)
        return ToolFailed(f"{tool} of {self._server.name} failed: {message}")

    async def _stay(self, client: Client, publish: Callable[[Offer], None]) -> None:
        inbound = self._inbound
        while not inbound.over.is_set():
            await inbound.woken.wait()
            inbound.woken.clear()
            if inbound.over.is_set() or not (inbound.changed or self._doubtful):
                continue
            await anyio.sleep(self._limits.debounce_seconds)
            self._doubtful, began = False, monotonic()
            with anyio.move_on_after(self._patience) as scope:
                publish(await self._listed(client))
            if scope.cancelled_caught:
                raise Hung(f"it did not list its tools within {self._patience:g} s")
            with anyio.move_on_after(max(self._limits.refresh_seconds, _PATIENCE * (monotonic() - began))):
                await inbound.over.wait()

    async def _listed(self, client: Client) -> Offer:
        self._inbound.begin_list()
        names: list[str] = []
        cursor = None
        for _ in range(self._limits.pages if client.server_capabilities.tools else 0):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            names += (tool.name for tool in page.tools)
            cursor = page.next_cursor
            if not cursor or len(names) >= self._limits.tools:
                break
        info = client.server_info
        about = client.instructions or (info and (info.description or info.title or info.name)) or ""
        tools = tuple(self._inbound.listed[name] for name in names if name in self._inbound.listed)
        listing = Listing(about, tools, tuple(self._inbound.left_out))
        self._inbound.listed = {}
        return await asyncio.to_thread(read_listing, self._server, self._prefix, listing, self._taken, self._limits)

    async def _subscribe(self, client: Client) -> None:
        """The protocol of 2026 tells of changes only those who ask. The news itself is seen by `Inbound`."""
        tools = client.server_capabilities.tools
        while client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools and tools.list_changed:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        pass
            except (MCPError, RuntimeError, TimeoutError, ValueError):
                pass
            await anyio.sleep(self._limits.steady_seconds)
            self._doubt()

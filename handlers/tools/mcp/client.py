"""The servers of `mcp.json`, each as a toolkit. Does not import the SDK, which takes a second."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handlers.access.roles import may
from handlers.tools.authoring.tool import Tool
from handlers.tools.mcp.config import DEFAULT_LIMITS, Limits, Server, Servers, read_servers
from handlers.tools.mcp.connection import Connection, ServerState
from handlers.tools.mcp.naming import prefixes
from handlers.tools.tool_source import BoundToolkit
from routing.errors import ConfigError, Reason, UnknownTool
from routing.ports import Clock
from routing.types.people import Role
from routing.types.toolkits import Toolkit
from routing.types.tools import ToolScope, Traits

if TYPE_CHECKING:  # they import the SDK
    from handlers.tools.mcp.listing import ListedTool
    from handlers.tools.mcp.session import Session

_SPARE_SECONDS = 5.0
"""Added to the timeout of a call, so that it is cancelled at the server before the tool executor gives up."""

log = logging.getLogger("handlers.tools.mcp")


class McpClient:
    """Connects to every server of a file in the background. A faulty server affects neither the others nor the bot.

    `environment` supplies the variables in the file; `taken` are names that no server's tool may have; `conceal` is
    called with the secrets in the file. `changed` is called in the event loop when `toolkits()` or `states()` change.
    """

    def __init__(
        self,
        path: Path,
        environment: Mapping[str, str],
        *,
        taken: Collection[str] = (),
        changed: Callable[[], None] = lambda: None,
        conceal: Callable[[Iterable[str]], None] = lambda _: None,
        clock: Clock = time.time,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._path = path
        self._environment = environment
        self._taken = frozenset(taken)
        self._report_change = changed
        self._conceal = conceal
        self._clock = clock
        self._limits = limits
        self._connections: dict[str, Connection] = {}
        self._problems: tuple[Reason, ...] = ()
        self._stamp: object = None
        self._refreshing = asyncio.Lock()
        self._importing = asyncio.Lock()
        self._toolkits: tuple[Toolkit, ...] = ()
        self._bound: tuple[BoundToolkit, ...] = ()
        self._tools: Mapping[str, tuple[Connection, ListedTool]] = {}
        self._shown_states: tuple[object, ...] = ()

    async def start(self) -> None:
        """Read the file; servers connect in the background."""
        await self.refresh()

    async def close(self) -> None:
        """Stop all servers, which takes a few seconds at most."""
        async with self._refreshing:
            await self._disconnect(list(self._connections))

    async def refresh(self) -> None:
        """Read the file if it has changed, and reconnect the servers whose entries have changed. A file that can't be
        read changes only `problems()`."""
        async with self._refreshing:
            stamp = await asyncio.to_thread(_stamp, self._path)
            if stamp == self._stamp:
                return
            try:
                servers = await asyncio.to_thread(read_servers, self._path, self._environment)
            except ConfigError as error:
                self._problems, self._stamp = (error.reason,), stamp
                log.warning("[MCP] %s", error)
                return
            self._conceal(secret for server in servers.found.values() for secret in server.secrets)
            await self._take(servers)
            self._stamp = stamp

    def toolkits(self) -> tuple[Toolkit, ...]:
        """Toolkits of the connected servers, in the order of the file; the same tuple until one of them changes."""
        return self._toolkits

    def bound_toolkits(self) -> tuple[BoundToolkit, ...]:
        """The same toolkits with their tools, for the toolbox."""
        return self._bound

    def states(self) -> tuple[ServerState, ...]:
        """The state of each server, in the order of the file."""
        return tuple(connection.state for connection in self._connections.values())

    def problems(self) -> tuple[Reason, ...]:
        """What is wrong with the file itself, in sentences."""
        return self._problems

    def named(self, server: str, tool: str) -> str | None:
        """Our name for a server's tool, for a manifest's `{"mcp": "server/tool"}`."""
        found = ((name, each) for name, (connection, each) in self._tools.items() if connection.server.name == server)
        return next((name for name, each in found if each.name == tool), None)

    def role(self, name: str) -> Role:
        """The lowest role that may use a tool."""
        return self._tools[name][0].server.role if name in self._tools else "owner"

    def traits(self, name: str) -> Traits:
        """A tool that is not declared read-only runs alone and needs a confirmation."""
        if name not in self._tools:
            return Traits()
        connection, tool = self._tools[name]
        server = connection.server
        return Traits(
            parallel=tool.read_only,
            changes=not tool.read_only,
            seconds=server.seconds + _SPARE_SECONDS,
            confirm=not tool.read_only,
            allowed_in="mcp.json" if server.allow is None or tool.name in server.allow else "",
            private=server.private,
        )

    async def call(self, tool_name: str, arguments: Mapping[str, Any], scope: ToolScope) -> str:
        """The result as untrusted text. Raises ToolFailed."""
        if tool_name not in self._tools or not may(scope.person, self.role(tool_name)):
            raise UnknownTool(f"There is no tool {tool_name[:60]} here.")
        connection, tool = self._tools[tool_name]
        return await connection.call(tool.name, arguments)

    async def _take(self, servers: Servers) -> None:
        for problem in servers.problems:
            log.warning("[MCP] %s", problem)
        self._problems = servers.problems
        named, old = prefixes(servers.found), self._connections
        unchanged = {
            name
            for name, server in servers.found.items()
            if name in old and (old[name].server, old[name].prefix) == (server, named[name])
        }
        await self._disconnect([name for name in old if name not in unchanged])
        self._connections = {
            name: old[name] if name in unchanged else self._connection(server, named[name])
            for name, server in servers.found.items()
        }
        for name, connection in self._connections.items():
            if name not in unchanged:
                connection.start()
        self._changed()

    async def _disconnect(self, names: Collection[str]) -> None:
        await asyncio.gather(*(self._connections.pop(name).close() for name in names))
        self._changed()

    def _connection(self, server: Server, prefix: str) -> Connection:
        return Connection(server, prefix, self._create_session, self._changed, self._clock, self._limits)

    def _tool(self, name: str) -> Tool:
        async def execute(scope: ToolScope, /, **arguments: object) -> str:
            return await self.call(name, arguments, scope)

        return Tool(name, execute, self.role(name), self.traits(name))

    async def _create_session(self, server: Server, prefix: str) -> Session:
        async with self._importing:  # one thread is enough for all of them
            module = await asyncio.to_thread(import_module, "handlers.tools.mcp.session")
        session: Session = module.Session(server, prefix, self._taken, self._limits)
        return session

    def _changed(self) -> None:
        connections = self._connections.values()
        self._tools = {
            name: (connection, tool)
            for connection in connections
            if connection.last_offer
            for name, tool in connection.last_offer.tools.items()
        }
        toolkits = tuple(connection.offer.toolkit for connection in connections if connection.offer)
        states = tuple((each.name, each.status, each.reason, each.warnings) for each in self.states())
        is_same = [*map(id, toolkits)] == [*map(id, self._toolkits)]  # comparing megabytes would hold the event loop
        if is_same and states == self._shown_states:
            return
        if not is_same:
            self._toolkits = toolkits
            self._bound = tuple(BoundToolkit(each, (self._tool(card.name) for card in each.tools)) for each in toolkits)
        self._shown_states = states
        self._report_change()


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return found.st_mtime_ns, found.st_size, found.st_ino

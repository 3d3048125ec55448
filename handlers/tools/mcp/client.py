"""The servers of `mcp.json`, each a toolkit. Nothing here imports the SDK: that takes a second, and comes late."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handlers.access import may
from handlers.tools.mcp.connection import Connection, ServerState
from handlers.tools.mcp.limits import USUAL, Limits
from handlers.tools.mcp.naming import prefixes
from handlers.tools.mcp.offers import traits_of
from handlers.tools.mcp.owners import Owners, owners, same_things
from handlers.tools.mcp.servers import Server, Servers, read_servers
from routing.errors import ConfigError, UnknownTool
from routing.ports import Clock
from routing.types.people import Role
from routing.types.toolkits import Toolkit
from routing.types.tools import ToolScope, Traits

if TYPE_CHECKING:
    from handlers.tools.mcp.session import Session

log = logging.getLogger("handlers.tools.mcp")


def _nothing() -> None:
    pass


class McpClient:
    """Connects to every server of a file in the background. Whatever one of them does, the others and the bot go on.

    `environment` is where variables in the file come from, `taken` are names of tools that no server's may have,
    `changed` is called in the event loop whenever `toolkits()` or how a server stands has become another; `conceal` is
    told the secrets in the file.
    """

    def __init__(
        self,
        path: Path,
        environment: Mapping[str, str],
        *,
        taken: Collection[str] = (),
        changed: Callable[[], None] = _nothing,
        conceal: Callable[[Iterable[str]], None] = lambda _: None,
        clock: Clock = time.time,
        limits: Limits = USUAL,
        version: str = "",
    ) -> None:
        self._path = path
        self._environment = environment
        self._taken = frozenset(taken)
        self._tell = changed
        self._conceal = conceal
        self._clock = clock
        self._limits = limits
        self._version = version
        self._connections: dict[str, Connection] = {}
        self._problems: tuple[str, ...] = ()
        self._stamp: object = None
        self._refreshing = asyncio.Lock()
        self._importing = asyncio.Lock()
        self._toolkits: tuple[Toolkit, ...] = ()
        self._owners = Owners()
        self._standing: tuple[object, ...] = ()

    async def start(self) -> None:
        """Returns as soon as the file is read."""
        await self.refresh()

    async def close(self) -> None:
        """Until every server is gone: a few seconds at most."""
        async with self._refreshing:
            await self._end(list(self._connections))

    async def refresh(self) -> None:
        """Read the file again if it is another; only servers that are written otherwise now are connected anew. A file
        that can't be read changes nothing but `problems()`."""
        async with self._refreshing:
            stamp = await asyncio.to_thread(_stamp, self._path)
            if stamp == self._stamp:
                return
            try:
                servers = await asyncio.to_thread(read_servers, self._path, self._environment)
            except ConfigError as error:
                self._problems, self._stamp = (str(error),), stamp
                log.warning("[MCP] %s", error)
                return
            self._conceal(secret for server in servers.found.values() for secret in server.secrets)
            await self._take(servers)
            self._stamp = stamp

    def toolkits(self) -> tuple[Toolkit, ...]:
        """Of the servers that are connected, in the order of the file; the same tuple until one of them is another."""
        return self._toolkits

    def states(self) -> tuple[ServerState, ...]:
        """How every server of the file stands, in its order."""
        return tuple(map(self._owners.state, self._connections.values()))

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file itself, in sentences."""
        return self._problems

    def named(self, server: str, tool: str) -> str | None:
        """The name here of a server's tool, for a manifest's `{"mcp": "server/tool"}`."""
        connection = self._connections.get(server)
        tools = connection.offer.tools if connection and connection.offer else {}
        name = next((name for name, each in tools.items() if each.name == tool), "")
        return name if connection and self._owners.has(connection, name) else None

    def role(self, name: str) -> Role:
        """Who may use a tool, from this role up."""
        found = self._owners.tools.get(name)
        return found[0].server.role if found else "owner"

    def traits(self, name: str) -> Traits:
        """How it may be run; unknown names have the plainest."""
        found = self._owners.tools.get(name)
        return traits_of(found[0].server, found[1]) if found else Traits()

    async def call(self, tool_name: str, arguments: Mapping[str, Any], scope: ToolScope) -> str:
        """What the tool gave, as text: data of somebody else's. Raises ToolFailed."""
        found = self._owners.tools.get(tool_name)
        if found is None or not may(scope.person, found[0].server.role):
            raise UnknownTool(f"There is no tool {tool_name[:60]} here.")
        connection, tool = found
        return await connection.call(tool.name, arguments)

    async def _take(self, servers: Servers) -> None:
        for problem in servers.problems:
            log.warning("[MCP] %s", problem)
        self._problems = servers.problems
        named = prefixes(servers.found)
        old = self._connections
        kept = {
            name: old[name]
            for name, server in servers.found.items()
            if name in old and (old[name].server, old[name].prefix) == (server, named[name])
        }
        await self._end([name for name in old if name not in kept])
        made = {name: self._connection(each, named[name]) for name, each in servers.found.items() if name not in kept}
        self._connections = {name: kept.get(name) or made[name] for name in servers.found}
        for connection in made.values():
            connection.start()
        self._changed()

    async def _end(self, names: Collection[str]) -> None:
        ending = [self._connections.pop(name) for name in names]
        await asyncio.gather(*(connection.close() for connection in ending))
        self._changed()

    def _connection(self, server: Server, prefix: str) -> Connection:
        return Connection(server, prefix, self._taken, self._dial, self._changed, self._clock, self._limits)

    async def _dial(self, server: Server, prefix: str, taken: Collection[str], limits: Limits) -> Session:
        async with self._importing:  # one thread is enough for all of them
            module = await asyncio.to_thread(import_module, "handlers.tools.mcp.session")
        session: Session = module.Session(server, prefix, taken, limits, self._version)
        return session

    def _changed(self) -> None:
        self._owners = owners(self._connections)
        found = (self._owners.toolkit(each, self._toolkits) for each in self._connections.values())
        toolkits = tuple(toolkit for toolkit in found if toolkit is not None)
        standing = tuple((each.name, each.status, each.reason, each.warnings) for each in self.states())
        if not same_things(toolkits, self._toolkits):
            self._toolkits = toolkits
        elif standing == self._standing:
            return
        self._standing = standing
        self._tell()


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return found.st_mtime_ns, found.st_size, found.st_ino

"""Our client with misbehaving servers."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handlers.tools.mcp.client import McpClient
from handlers.tools.mcp.config import Limits
from handlers.tools.mcp.connection import ServerState
from routing.types.decisions import TierDecision
from routing.types.people import Person, Role
from routing.types.tools import ToolScope

UNRULY = Path(__file__).with_name("unruly.py")
CALL_SECONDS = 20.0
"""The time limit of a server's calls."""
QUICK = Limits(
    start_seconds=60, first_delay=0.01, longest_delay=0.05, debounce_seconds=0.01, refresh_seconds=0.01, end_seconds=0.3
)
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "OPENAI_API_KEY": "sk-the-bots"}


def scope(role: Role = "owner") -> ToolScope:
    return ToolScope(Person(7, role, "Ann"), 1, TierDecision("balanced", "default", ""))


class McpHarness:
    """The configuration file, the client that reads it, and waits for its changes."""

    def __init__(self, folder: Path, limits: Limits, environment: Mapping[str, str], taken: tuple[str, ...]) -> None:
        self.path = folder / "mcp.json"
        self._folder = folder
        self._servers: dict[str, Any] = {}
        self._moved = asyncio.Event()
        self.client = McpClient(self.path, environment, taken=taken, changed=self._moved.set, limits=limits)

    def plan(self, name: str, **plan: Any) -> Path:
        """What the server of this name does from its next start or list on."""
        path = self._folder / f"{name}.plan.json"
        path.write_text(json.dumps(plan))
        return path

    def server(self, name: str, plan: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Adds a misbehaving server to the file."""
        arguments = [str(UNRULY), str(self.plan(name, **(plan or {})))]
        self.entry(
            name, {"command": sys.executable, "args": arguments, "timeout": CALL_SECONDS, "allow": True, **fields}
        )

    def entry(self, name: str, fields: Any) -> None:
        self._servers[name] = fields
        self.path.write_text(json.dumps({"mcpServers": self._servers}))

    def without(self, name: str) -> None:
        del self._servers[name]
        self.path.write_text(json.dumps({"mcpServers": self._servers}))

    def state(self, name: str) -> ServerState:
        return next(each for each in self.client.states() if each.name == name)

    def names(self) -> list[str]:
        return [tool.name for toolkit in self.client.toolkits() for tool in toolkit.tools]

    async def until(self, holds: Callable[[], object]) -> None:
        """Waits for a condition that the client's notifications can change."""
        async with asyncio.timeout(60):
            while not holds():
                await self._moved.wait()
                self._moved.clear()

    async def started(self, *names: str) -> None:
        """Start the client and wait until these servers are connected."""
        await self.client.start()
        await self.connected(*names)

    async def connected(self, *names: str) -> None:
        await self.until(lambda: all(self.state(name).status == "connected" for name in names))

    async def call(self, name: str, role: Role = "owner", **arguments: Any) -> str:
        return await self.client.call(name, arguments, scope(role))


@asynccontextmanager
async def mcp_harness(
    folder: Path,
    limits: Limits = QUICK,
    environment: Mapping[str, str] = ENVIRONMENT,
    taken: tuple[str, ...] = (),
) -> AsyncIterator[McpHarness]:
    """Starts nothing; at the end every server is closed."""
    made = McpHarness(folder, limits, environment, taken)
    try:
        yield made
    finally:
        await made.client.close()

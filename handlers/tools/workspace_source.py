"""Makes the owner's toolkits available: programs in the sandbox, and renamed tools of MCP servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from handlers.tools.authoring.manifests import Manifest
from handlers.tools.authoring.tasks import McpTool
from handlers.tools.authoring.tool import Execute, Off, Tool
from handlers.tools.mcp.client import McpClient
from handlers.tools.programs import programs_of
from handlers.tools.sandbox import Sandbox
from handlers.tools.tool_source import BoundToolkit
from handlers.tools.workspace import WorkspaceToolkits
from routing.errors import Reason, ToolFailed
from routing.types.people import ROLES
from routing.types.toolkits import Toolkit
from routing.types.tools import ToolScope


class WorkspaceSource:
    """Implements `handlers.tools.tool_source.Source`. A server's tool requires the role set by the file and the role
    set by the server."""

    def __init__(self, toolkits: WorkspaceToolkits, sandbox: Sandbox, mcp: McpClient) -> None:
        self._toolkits = toolkits
        self._sandbox = sandbox
        self._mcp = mcp
        self._manifests: tuple[Manifest, ...] = ()
        self._offered: tuple[Toolkit, ...] = ()
        self._bound: tuple[BoundToolkit, ...] = ()

    def bound_toolkits(self) -> tuple[BoundToolkit, ...]:
        manifests, offered = self._toolkits.manifests, self._mcp.toolkits()
        if manifests != self._manifests or offered is not self._offered:
            self._manifests, self._offered = manifests, offered
            self._bound = tuple(
                BoundToolkit(each.toolkit, (*programs_of(each, self._sandbox), *self._served(each)))
                for each in manifests
            )
        return self._bound

    def _served(self, manifest: Manifest) -> Iterator[Tool]:
        for name, way in manifest.ways.items():
            if isinstance(way, McpTool):
                there = self._named(way)
                traits = self._mcp.traits(there or "")
                traits = replace(traits, confirm=True, allowed_in="") if way.confirm else traits
                roles = (manifest.role, self._mcp.role(there)) if there else (manifest.role,)
                yield Tool(name, self._call(way), min(roles, key=ROLES.index), traits, self._off(way))

    def _call(self, way: McpTool) -> Execute:
        async def execute(scope: ToolScope, /, **arguments: object) -> str:
            name = self._named(way)
            if name is None:
                raise ToolFailed(_missing(way))
            return await self._mcp.call(name, arguments, scope)

        return execute

    def _off(self, way: McpTool) -> Off:
        async def off() -> str | None:
            return None if self._named(way) else _missing(way)

        return off

    def _named(self, way: McpTool) -> str | None:
        """The tool's name in the toolbox; None while the server does not offer it."""
        name = self._mcp.named(way.server, way.tool)
        there = {card.name for toolkit in self._mcp.toolkits() for card in toolkit.tools}
        return name if name in there else None


def _missing(way: McpTool) -> Reason:
    words = "the MCP server {server} is not connected, or has no tool {tool}"
    return Reason(words, server=way.server, tool=way.tool)

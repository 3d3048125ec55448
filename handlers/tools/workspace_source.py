"""Makes the owner's toolkits available: programs in the sandbox, and renamed tools of MCP servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from handlers.tools.authoring.manifests import Manifest
from handlers.tools.authoring.tasks import McpTool, Program
from handlers.tools.authoring.tool import Execute, Off, Tool
from handlers.tools.code import traits_of
from handlers.tools.mcp.client import McpClient
from handlers.tools.sandbox import Sandbox
from handlers.tools.tool_source import BoundToolkit
from handlers.tools.workspace import WorkspaceToolkits
from routing.errors import Reason, ToolFailed
from routing.types.people import ROLES, Role
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
            self._bound = tuple(BoundToolkit(each.toolkit, self._tools(each)) for each in manifests)
        return self._bound

    def _tools(self, manifest: Manifest) -> Iterator[Tool]:
        for name, way in manifest.implementations.items():
            if isinstance(way, Program):
                yield program_tool(name, way, manifest.role, self._sandbox)
            else:
                there = self._named(way)
                traits = self._mcp.traits(there or "")
                traits = replace(traits, confirm=True, allowed_in="") if way.confirm else traits
                traits = replace(traits, private=way.private or traits.private)
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


def program_tool(name: str, way: Program, role: Role, sandbox: Sandbox) -> Tool:
    """A tool that runs a program in the person's folder. Raises ToolFailed, with the output, if the program is stopped
    or its exit code is not 0."""

    async def execute(scope: ToolScope, /, **arguments: object) -> str:
        ran = await sandbox.run(scope.person.id, way.argv, json.dumps(arguments).encode())
        printed = ran.output.strip()
        cut = f"\n[OUTPUT TRUNCATED: {ran.cut.total} chars total]" if ran.cut else ""
        if ran.ended == "exit" and ran.exit_code == 0:
            return f"{printed or '[no output]'}{cut}"
        reason = f"[exit code {ran.exit_code}]" if ran.ended == "exit" else f"[ended by its limit on {ran.ended}]"
        raise ToolFailed(f"{name} failed {reason}: {printed or 'no output'}{cut}")

    traits = replace(traits_of(sandbox), confirm=way.confirm, private=way.private)
    return Tool(name, execute, role, traits, sandbox.reason_off)


def _missing(way: McpTool) -> Reason:
    words = "the MCP server {server} is not connected, or has no tool {tool}"
    return Reason(words, server=way.server, tool=way.tool)

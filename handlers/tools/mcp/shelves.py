"""The servers' toolkits for the toolbox."""

from __future__ import annotations

from handlers.tools.mcp.client import McpClient
from handlers.tools.shelf import Shelf
from handlers.tools.tool import Tool
from routing.types.toolkits import Toolkit
from routing.types.tools import ToolScope


class McpShelves:
    """`handlers.tools.shelf.Source`."""

    def __init__(self, client: McpClient) -> None:
        self._client = client
        self._of: tuple[Toolkit, ...] = ()
        self._shelves: tuple[Shelf, ...] = ()

    def shelves(self) -> tuple[Shelf, ...]:
        toolkits = self._client.toolkits()
        if toolkits is not self._of:
            self._of = toolkits
            self._shelves = tuple(Shelf(each, map(self._tool, (card.name for card in each.tools))) for each in toolkits)
        return self._shelves

    def _tool(self, name: str) -> Tool:
        async def execute(scope: ToolScope, /, **arguments: object) -> str:
            return await self._client.call(name, arguments, scope)

        return Tool(name, execute, self._client.role(name), self._client.traits(name))

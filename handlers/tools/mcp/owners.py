"""Whose each name of a tool is: the one place where that is decided, for what models see, who may call it and where the
call goes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from handlers.tools.mcp.connection import Connection, ServerState
from handlers.tools.mcp.offers import ListedTool
from handlers.tools.mcp.texts import shown
from routing.types.toolkits import Toolkit

Found = tuple[Connection, ListedTool]


@dataclass(frozen=True, slots=True)
class Owners:
    """The tools of all servers by name; `clashes` are those that are left out, by server, in sentences."""

    tools: Mapping[str, Found] = field(default_factory=dict)
    clashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def has(self, connection: Connection, name: str) -> bool:
        """Whether a name is a tool of this server's."""
        return name in self.tools and self.tools[name][0] is connection

    def toolkit(self, connection: Connection, last: Sequence[Toolkit]) -> Toolkit | None:
        """What a server offers now, without what is another's; the one of `last` if that is the same."""
        if connection.offered is None or connection.server.name not in self.clashes:
            return connection.offered.toolkit if connection.offered else None
        toolkit = connection.offered.toolkit
        left = replace(toolkit, tools=tuple(card for card in toolkit.tools if self.has(connection, card.name)))
        old = next((each for each in last if each.name == left.name), None)
        same = (
            old is not None and same_things(old.tools, left.tools) and replace(old, tools=()) == replace(left, tools=())
        )
        return old if same else left

    def state(self, connection: Connection) -> ServerState:
        """How it stands, clashes included."""
        state = connection.state
        clashes = self.clashes.get(state.name, ()) if connection.offered else ()
        return replace(state, tools=state.tools - len(clashes), warnings=(*state.warnings, *clashes))


def owners(connections: Mapping[str, Connection]) -> Owners:
    """Of two tools with one name the first in the file has it, also while its server is away."""
    tools: dict[str, Found] = {}
    clashes: dict[str, tuple[str, ...]] = {}
    for server, connection in connections.items():
        for name, tool in connection.offer.tools.items() if connection.offer else ():
            first = tools.setdefault(name, (connection, tool))[0]
            if first is not connection:
                words = f"{shown(tool.name)} is left out: the server {first.server.name} has the name {name} already"
                clashes[server] = (*clashes.get(server, ()), words)
    return Owners(tools, clashes)


def same_things(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether they are the very same: comparing megabytes of schemas would hold the event loop."""
    return len(some) == len(others) and all(map(operator.is_, some, others))

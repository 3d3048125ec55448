"""What a server offers: its tools as it lists them, and the toolkit that comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.tools.mcp.servers import Server
from routing.types.toolkits import Toolkit
from routing.types.tools import Traits

_SPARE_SECONDS = 5.0
"""A call that is late is told to the server, and told to the model, within the tool's own limit."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it; what it says of itself is a hint."""

    name: str
    description: str
    schema: Mapping[str, Any]
    hints: object = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server said of itself and its tools; `left_out` are the reasons for tools that it lists in vain."""

    about: str
    tools: tuple[ListedTool, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's toolkit, and by the name of each of its tools the tool behind it. `warnings` are sentences. Offers of
    the same `digest` are the same."""

    toolkit: Toolkit
    tools: Mapping[str, ListedTool] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    digest: bytes = b""


def traits_of(server: Server, tool: ListedTool) -> Traits:
    """What a server says of its own tool decides what runs beside what, and whether a person has to confirm a call; who
    may use it, the owner says. A tool that does not call itself read-only needs a confirmation."""
    allowed = server.allow is None or tool.name in server.allow
    return Traits(
        parallel=tool.read_only,
        changes=not tool.read_only,
        seconds=server.seconds + _SPARE_SECONDS,
        confirm=not tool.read_only,
        allowed_in="mcp.json" if allowed else "",
    )

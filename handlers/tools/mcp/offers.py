"""What a server offers: its tools as it lists them, and the toolkit that comes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handlers.tools.mcp.servers import Server
from routing.outcome import Traits
from routing.text import storable
from routing.toolkits import Toolkit

_SPARE_SECONDS = 5.0
"""A call that is late is told to the server, and told to the model, within the tool's own limit."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""What a person who reads a description does not see, and a model does."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it; what it says of itself is a hint."""

    name: str
    description: str
    schema: Mapping[str, Any]
    hints: object = None
    read_only: bool = False
    destructive: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server said of itself and its tools; `left_out` are the reasons for tools that it lists in vain."""

    about: str
    tools: tuple[ListedTool, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """A server's toolkit, and by the name of each of its tools the tool behind it. `warnings` are sentences."""

    toolkit: Toolkit
    tools: Mapping[str, ListedTool] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def traits_of(server: Server, tool: ListedTool) -> Traits:
    """What a server says of its own tool decides what runs beside what, never who may."""
    return Traits(parallel=tool.read_only, changes=not tool.read_only, seconds=server.seconds + _SPARE_SECONDS)


def readable(text: str, longest: int) -> str:
    """The text without signs that nobody sees, at most so long."""
    text = _UNSEEN.sub("", storable(text)).strip()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shown(name: str) -> str:
    """A name of a server's own, for a person."""
    return readable(name, 64) or "a tool without a name"

"""A tool as the toolbox runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from routing.types.people import Role
from routing.types.toolkits import ToolCard
from routing.types.tools import Traits

Execute = Callable[..., Awaitable[str]]
"""Called with the ToolScope and the arguments as keywords; returns the text for the model. Raises ToolFailed."""
Off = Callable[[], Awaitable[str | None]]
"""Returns why the tool can't be used now and how to fix that; None if it can."""
Describe = Callable[[ToolCard], ToolCard]
"""Adapts the card to this machine."""

Asks = Callable[..., Awaitable[str | None]]
"""Called like Execute. Returns what a person should know before confirming the call, such as its price; None if no
confirmation is needed."""

PLAIN = Traits()


class Preview(str):
    """A text from `asks` that shows these arguments in full, so that the card doesn't list them again. `fixed` are
    arguments in place of the given ones, for those that could mean something else by the time of the press."""

    shows: frozenset[str]
    fixed: Mapping[str, Any]

    def __new__(cls, text: str, shows: Iterable[str], fixed: Mapping[str, Any] | None = None) -> Preview:
        preview = super().__new__(cls, text)
        preview.shows = frozenset(shows)
        preview.fixed = fixed or {}
        return preview


@dataclass(frozen=True, slots=True)
class Tool:
    """What runs for a tool's card. Authors write `@tool` functions, which `runnable` turns into this; MCP servers and
    workspace toolkits build it directly. `role` is the minimum role for calls. With `traits.confirm`, each call
    needs a confirmation; with `asks`, only calls for which it returns a text. It is there only for people who have
    connected one of its `accounts`, if it has any."""

    name: str
    execute: Execute
    role: Role = "user"
    traits: Traits = PLAIN
    off: Off | None = None
    describe: Describe | None = None
    asks: Asks | None = None
    accounts: tuple[str, ...] = ()

"""A tool as its author writes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from routing.types.people import Role
from routing.types.toolkits import ToolCard
from routing.types.tools import Traits

Execute = Callable[..., Awaitable[str]]
"""Called with the ToolScope and the arguments by name; the text is for the model. Raises ToolFailed."""
Off = Callable[[], Awaitable[str | None]]
"""Why the tool can't be used at the moment, and the mend; None while it can."""
Describe = Callable[[ToolCard], ToolCard]
"""What models are told of the tool on this machine."""

Asks = Callable[..., Awaitable[str | None]]
"""Called like Execute: what a person should know before they confirm this call, such as its price; None when it needs
no confirmation."""

PLAIN = Traits()


@dataclass(frozen=True, slots=True)
class Tool:
    """The function behind a task of a manifest. Everybody from `role` up may have it called. With `traits.confirm` each
    call needs a confirmation, with `asks` those for which it returns a text."""

    name: str
    execute: Execute
    role: Role = "user"
    traits: Traits = PLAIN
    off: Off | None = None
    describe: Describe | None = None
    asks: Asks | None = None

"""On whose behalf a tool runs, and how it may be run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from routing.types.decisions import TierDecision
from routing.types.llm import ChatMessage
from routing.types.people import Person
from routing.types.sizes import Size
from routing.types.tiers import TIERS, Tier
from routing.types.usage import TurnCost

Discover = Callable[[str], Awaitable[str]]


Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolScope:
    """On whose behalf a tool runs, and what was decided for the model that asked for it. `time_zone` is an IANA name,
    `tiers` are those that it may switch to; it was told of the tools as `size` is. `discover` looks for more tools, in
    words, and tells the model which it may call from now on. A tool that asks models puts their calls on the turn's
    `cost`; one that takes long tells the person its progress with `show`, as Markdown in their `language` (an ISO
    code), which returns at once."""

    person: Person
    conversation_id: int
    decision: TierDecision
    time_zone: str = "UTC"
    tiers: tuple[Tier, ...] = TIERS
    size: Size = "XL"
    discover: Discover | None = None
    language: str = ""
    cost: TurnCost | None = field(default=None, compare=False)
    show: Show | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Traits:
    """How a tool may be run: beside others; whether it changes what another call may see; `seconds` at most, which come
    on top of the turn's deadline with `own_time` (such a tool runs alone). `confirm`: it acts outside the person's
    folder and the sandbox, so a person has to confirm each call, unless it was allowed; `allowed_in` is the owner's
    file that allows it for everybody."""

    parallel: bool = True
    changes: bool = False
    seconds: float = 30.0
    own_time: bool = False
    confirm: bool = False
    allowed_in: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told of one tool call. `unknown_tool`: there is no such tool, or not for this person."""

    call_id: str
    tool: str
    content: str
    failed: bool = False
    unknown_tool: bool = False

    def message(self) -> ChatMessage:
        """The result as a message of the prompt."""
        return ChatMessage("tool", self.content, call_id=self.call_id, tool=self.tool)

"""The context of a tool call, its execution traits and its result."""

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
    """The person, conversation and decision that a tool runs for. `time_zone` is an IANA name, `tiers` are those it may
    switch to, `size` the class of the definitions that the model saw. `discover` searches for more tools and tells the
    model what it may call from now on. Tools that call models add the calls to `cost`. Long-running tools report
    progress with `show`, as Markdown in the person's `language` (an ISO code); it returns at once."""

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
    """How a tool may run. `parallel`: together with others; `changes`: it may change what other calls return; `seconds`
    is its time limit, which with `own_time` adds to the turn's deadline (such a tool runs alone). `confirm`: it acts
    outside the person's folder and the sandbox, so each call needs a confirmation unless allowed; `allowed_in` is the
    owner's file that allows it for everyone."""

    parallel: bool = True
    changes: bool = False
    seconds: float = 30.0
    own_time: bool = False
    confirm: bool = False
    allowed_in: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call for the model. `unknown_tool`: no such tool exists for this person."""

    call_id: str
    tool: str
    content: str
    failed: bool = False
    unknown_tool: bool = False

    def message(self) -> ChatMessage:
        """The result as a prompt message."""
        return ChatMessage("tool", self.content, call_id=self.call_id, tool=self.tool)

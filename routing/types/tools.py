"""The context of a tool call, its execution traits, its result, and its confirmation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from routing.errors import ToolFailed
from routing.types.decisions import Size, TierDecision
from routing.types.llm import ChatMessage
from routing.types.messages import OutgoingFile
from routing.types.people import Person
from routing.types.tiers import TIERS, Tier
from routing.types.usage import TurnCost

Discover = Callable[[str], Awaitable[str]]
Show = Callable[[str], None]
Attach = Callable[[OutgoingFile], None]
"""Adds a file to the reply; returns at once, callable from any thread. Raises ToolFailed if it can't be sent there."""


@dataclass(frozen=True, slots=True)
class ToolScope:
    """The person, conversation and decision that a tool runs for. `time_zone` is an IANA name, `tiers` are those it may
    switch to, `size` the class of the definitions that the model saw. `discover` searches for more tools and tells the
    model what it may call from now on. Tools that call models add the calls to `cost`. Long-running tools report
    progress with `show`, as Markdown in the person's `language` (an ISO code); it returns at once. `attach` adds a file
    to the reply; it is None where nothing can be sent. `private`: only this person and the bot read the conversation.
    `outside` returns the sources of text by others that the model has read in it so far. `confirmed` is what the tool's
    `asks` had told the person who confirmed this call. `scheduled`: the question is a scheduled prompt."""

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
    attach: Attach | None = field(default=None, compare=False)
    confirmed: str = ""
    private: bool = True
    scheduled: bool = False
    outside: Callable[[], tuple[str, ...]] = field(default=tuple, compare=False)


@dataclass(frozen=True, slots=True)
class Traits:
    """How a tool may run. `parallel`: together with others; `changes`: it may change what other calls return; `seconds`
    is its time limit, which with `own_time` adds to the turn's deadline (such a tool runs alone). `confirm`: it acts
    outside the person's folder and the sandbox, so each call needs a confirmation unless allowed; `allowed_in` is the
    owner's file that allows it for everyone. `outside`: its results may contain text by others, such as a page.
    `private`: its results show what only this person may see, such as their files. Where others read along, each call
    needs a confirmation that was not given elsewhere, or is refused if the tool has a question of its own."""

    parallel: bool = True
    changes: bool = False
    seconds: float = 30.0
    own_time: bool = False
    confirm: bool = False
    allowed_in: str = ""
    outside: bool = True
    private: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call for the model. `unknown_tool`: no such tool exists for this person."""

    call_id: str
    tool: str
    content: str
    failed: bool = False
    unknown_tool: bool = False

    def message(self) -> ChatMessage:
        return ChatMessage("tool", self.content, call_id=self.call_id, tool=self.tool)


ActionState = Literal["waiting", "running", "done", "cancelled", "unknown"]
"""`unknown`: the process ended while the action ran, so it may or may not have happened."""

WAITS = (
    "{tool} has NOT run. It needs the user's confirmation: below this turn they are shown a button with exactly these "
    "arguments, and only they can press it. Do not claim that it was done. It has run only if its result stands later "
    "in this conversation."
)


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A tool call that runs once its person presses the button. `arguments` are canonical JSON; `digest` covers the
    tool's description and the arguments. `note` is shown to the person, such as a price; it shows the arguments in
    `previewed`; `here_only` means that it can't be allowed for all conversations. These two are not stored, because
    only the card needs them. `tier` is the tier that was requested for this message only. `press` identifies the
    button press that started it; `result` is the tool's output, and `files` are to be sent with it. `expires_at` is in
    Unix seconds. `id` is 0 until the action is stored."""

    person_id: int
    conversation_id: int
    tool: str
    toolkit: str
    arguments: str
    digest: str
    expires_at: float
    note: str = ""
    tier: Tier | None = None
    state: ActionState = "waiting"
    press: str = ""
    result: str = ""
    files: tuple[OutgoingFile, ...] = ()
    previewed: frozenset[str] = frozenset()
    here_only: bool = False
    id: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """A tool that runs without confirmation: for this person in one conversation (None: in all), or for everyone.
    `version` is a hash of the tool's description; after a change the tool asks again."""

    tool: str
    version: str
    conversation_id: int | None = None
    everybody: bool = False


class NeedsConfirmation(ToolFailed):
    """The call was stored instead of run; the message tells the model so."""

    def __init__(self, action: PendingAction) -> None:
        super().__init__(WAITS.format(tool=action.tool))
        self.action = action

"""What a turn did and what came of it: frozen, slotted, without I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from routing.calls import ChatMessage, Completion, Usage
from routing.confirmation import PendingAction
from routing.conversation.window import PromptFit
from routing.decisions import ModelChoice, TierDecision
from routing.errors import ModelError
from routing.failover.step import Why
from routing.models.sizes import Size
from routing.money.standing import Reached
from routing.types import TIERS, Person, Tier

if TYPE_CHECKING:
    from routing.money.bill import Bill

NO_TOOL = "There is no tool"
"""How the answer to a call begins of a tool that there is not, or not for this person."""
Bound = Literal["calls", "tools", "seconds", "money", "budget"]
"""What a turn may not have without end: calls of models, calls of tools, time, money; and what its person may spend."""


Voice = Literal["voice"]
VOICE: Voice = "voice"

Discover = Callable[[str], Awaitable[str]]
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ToolScope:
    """On whose behalf a tool runs, and what was decided for the model that asked for it. `time_zone` is an IANA name,
    `tiers` are those that it may switch to; it was told of the tools as `size` is. `discover` looks for more tools, in
    words, and tells the model which it may call from now on. A tool that asks models puts their calls on the turn's
    `bill`; one that takes long tells the person its progress with `show`, as Markdown in their `language` (an ISO
    code), which returns at once."""

    person: Person
    conversation_id: int
    decision: TierDecision
    time_zone: str = "UTC"
    tiers: tuple[Tier, ...] = TIERS
    size: Size = "XL"
    discover: Discover | None = None
    language: str = ""
    bill: Bill | None = field(default=None, compare=False)
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
class CallRecord:
    """One call to a model, for the books; a voice message's has the tier VOICE. `seconds` is the model's own time.
    `charged` is what the limits of its payer were charged, in US dollars, where the provider did not count it."""

    tier: Tier | Voice
    model: str
    usage: Usage | None
    seconds: float
    charged: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound that the turn reached, and its value: a number, seconds, or US dollars."""

    bound: Bound
    value: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A model that was asked in a turn and did not answer, so that another was; `reason` and `raw` are its error's,
    empty where it wrote nothing within its length."""

    model: str
    reason: str
    why: Why
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished turn: what was decided last and what came of it. `said` is everything after the question, calls and
    results included; exactly one of `completion` and `error` is set. With `most_chars` every longer message was cut,
    because the provider reported an overflow. `failed` were asked before the model that answered; `first_token` is
    when the turn's first sign of life came, `seconds` what it took in all. `over` is a limit of money that has no room
    for it, or that it went beyond. `waiting` is the tool call with which the turn ended, for its person to confirm."""

    decision: TierDecision
    choice: ModelChoice
    fit: PromptFit
    completion: Completion | None
    error: ModelError | None = None
    said: tuple[ChatMessage, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    limit: Limit | None = None
    most_chars: int | None = None
    failed: tuple[Failed, ...] = ()
    seconds: float = 0.0
    first_token: float | None = None
    over: Reached | None = None
    waiting: PendingAction | None = None

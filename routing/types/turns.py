"""What a turn did and what came of it: frozen, slotted, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from routing.errors import ModelError
from routing.types.budgets import Reached
from routing.types.confirmation import PendingAction
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.llm import ChatMessage, Completion
from routing.types.messages import Attachment
from routing.types.people import Person, PersonSettings, Preferences
from routing.types.tiers import Tier
from routing.types.usage import CallRecord


@dataclass(frozen=True, slots=True)
class PromptFit:
    """How full the context window is: tokens are our estimate, above `limit` older messages become a summary.
    `dropped` counts messages left out, `compactions` the summaries so far; `trouble` is why the newest could not be
    written, `lost` the same when that happened just now. `cut_question`: the question itself was too long.
    `pictures_left_out`: how many of its pictures there was no room for."""

    tokens: int
    limit: int
    dropped: int
    compactions: int = 0
    trouble: str = ""
    lost: str = ""
    cut_question: bool = False
    pictures_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Switches:
    """What was set from inside a conversation: a tier by the model, a skill by name; times are Unix seconds."""

    tier: Tier | None = None
    tier_at: float = 0.0
    skill: str = ""
    skill_at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What a turn is answered with: its conversation and what was set there, what its person chose. Taken when the turn
    begins, or before the first command that was sent after the question takes effect."""

    conversation_id: int
    preferences: Preferences
    settings: PersonSettings
    switches: Switches


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks in a conversation; with `replaces` the history from that message id on is not shown.
    `prefix` is the tier that `!tier` before the message asked for, `source` the platform's id of the message, `kept`
    the turn that keeps what is asked again; `escalates`: it is asked again of a higher tier.
    `fixed` is what the turn is answered with; None: what holds now. `language` is the code of the one in which its
    person reads the bot's own sentences."""

    person: Person
    conversation_id: int
    text: str
    pictures: tuple[Attachment, ...] = ()
    replaces: int | None = None
    prefix: Tier | None = None
    source: str = ""
    kept: str = ""
    escalates: bool = False
    fixed: TurnSettings | None = None
    language: str = ""


Why = Literal[
    "shown",
    "policy",
    "attempts",
    "deadline",
    "other model",
    "same provider",
    "larger window",
    "shorten",
    "allowance",
    "empty",
    "asked to wait",
    "passing",
    "nobody left",
]


if TYPE_CHECKING:
    pass

Bound = Literal["calls", "tools", "seconds", "money", "budget"]
"""What a turn may not have without end: calls of models, calls of tools, time, money; and what its person may spend."""


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

"""The input and the outcome of a turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from routing.errors import ModelError
from routing.types.budgets import Reached
from routing.types.decisions import ModelChoice, TierDecision
from routing.types.learning import Lesson
from routing.types.llm import ChatMessage, Completion
from routing.types.messages import Attachment, ChatKey
from routing.types.people import Person, PersonSettings, Preferences
from routing.types.tiers import Tier
from routing.types.tools import Attach, PendingAction
from routing.types.usage import CallRecord


@dataclass(frozen=True, slots=True)
class PromptFit:
    """How full the context window is, in estimated tokens; above `limit` older messages are summarised. `dropped`
    counts messages left out, `compactions` the summaries so far. `failure` is why the newest summary failed, `lost` the
    same if it failed in this turn. `cut_question`: the question itself was too long. `pictures_left_out` counts its
    pictures that didn't fit, `pictures_missing` those that could not be fetched or made."""

    tokens: int
    limit: int
    dropped: int
    compactions: int = 0
    failure: str = ""
    lost: str = ""
    cut_question: bool = False
    pictures_left_out: int = 0
    pictures_missing: int = 0


@dataclass(frozen=True, slots=True)
class Switches:
    """Settings made within a conversation: a tier by the model, a skill by name; times are Unix seconds."""

    tier: Tier | None = None
    tier_at: float = 0.0
    skill: str = ""
    skill_at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """The settings to answer a turn with. Captured when the turn begins, or before the first command sent after the
    question takes effect."""

    conversation_id: int
    preferences: Preferences
    settings: PersonSettings
    switches: Switches


@dataclass(frozen=True, slots=True)
class Question:
    """A question in a conversation. With `replaces`, the history from that message id on is hidden. `prefix` is the
    tier from a leading `!tier`, `source` the platform's id of the message, `kept` the turn whose question is asked
    again, `escalates` whether that is for a higher tier. `fixed` are the settings to answer with (None: the current
    ones). `language` is the code of the language of the bot's own sentences. `attach` adds a file to the reply.
    `private`: nobody else reads the conversation; `scheduled`: the question was written earlier, for this time.
    `own_words` is the text without the documents in it, or else their names (empty: the text itself). `chat` is where
    it was asked, if that is known."""

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
    attach: Attach | None = field(default=None, compare=False)
    private: bool = True
    scheduled: bool = False
    own_words: str = ""
    chat: ChatKey | None = None


Why = Literal[
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
    "no model left",
]


Bound = Literal["calls", "tools", "seconds", "money", "budget"]
"""The limits of a turn: model calls, tool calls, time, money, and the person's budget."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that the turn reached, and its value: a number, seconds or US dollars."""

    bound: Bound
    value: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A model that failed in a turn before another was tried; `reason` and `raw` come from its error, empty if it wrote
    nothing within its length."""

    model: str
    reason: str
    why: Why
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished turn with its last decisions. `messages` are those after the question, with calls and results.
    Exactly one of `completion` and `error` is set. With `most_chars`, longer messages were cut after an overflow.
    `failed` are the models tried before; `first_token` and `seconds` are times since the start. `over` is a spending
    limit that was reached or exceeded. `waiting` is a tool call that needs a confirmation and ended the turn. `connect`
    are kinds of account that the question would have needed, and that the person should be told to connect. `missed`
    are the tools that were called although they had not been shown."""

    decision: TierDecision
    choice: ModelChoice
    fit: PromptFit
    completion: Completion | None
    error: ModelError | None = None
    messages: tuple[ChatMessage, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    limit: Limit | None = None
    most_chars: int | None = None
    failed: tuple[Failed, ...] = ()
    seconds: float = 0.0
    first_token: float | None = None
    over: Reached | None = None
    waiting: PendingAction | None = None
    connect: tuple[str, ...] = ()
    missed: tuple[Lesson, ...] = ()

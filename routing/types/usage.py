"""Tokens and money spent, and who pays."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, get_args

from routing.types.budgets import PayerKind, Period, Reached
from routing.types.llm import Usage
from routing.types.messages import ChatKey
from routing.types.tiers import Tier

Media = Literal["voice", "speech", "image"]
MEDIA: tuple[Media, ...] = get_args(Media)
"""Calls outside the tiers: transcribed voice messages, spoken answers, and pictures."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call to a model; for media, the kind is in place of the tier. `seconds` is the model's own time. `charged` is
    the amount in US dollars charged to the limits if the provider didn't count the call. `stored`: it was stored when
    it was made, so the end of the turn doesn't store it again."""

    tier: Tier | Media
    model: str
    usage: Usage | None
    seconds: float
    charged: Decimal | None = None
    stored: bool = False


def known_cost(calls: Iterable[CallRecord]) -> Decimal:
    """The total of the known costs in US dollars."""
    return sum((each.usage.cost for each in calls if each.usage and each.usage.cost), Decimal(0))


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and money of a model; `unknown` counts the calls of unknown price."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal
    unknown: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(slots=True)
class TurnCost:
    """The cost of a turn: `calls` are all its calls, failed ones too; `consulted` of them were a council's. `over` is a
    spending limit that the turn exceeds anyway, because the owner only wants a warning or (`cheapest`) because the
    cheapest model answers."""

    person_id: int
    chat: ChatKey
    payer: PayerKind = "known"
    cheapest: bool = False
    over: Reached | None = None
    calls: list[CallRecord] = field(default_factory=list)
    consulted: int = 0

    @property
    def counted(self) -> int:
        """The number of calls that count towards the turn's limit; councils have their own."""
        return len(self.calls) - self.consulted


Rating = Literal[-1, 1]


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose spending to sum in a period: one person's, one chat's with all its topics (with `channels`, only that of
    channels posting there), or everyone's."""

    period: Period
    person_id: int | None = None
    chat: tuple[str, str] | None = None
    channels: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """The sum of known costs and of the amounts charged for uncounted calls, in US dollars; the number of calls of
    unknown cost, and the tokens of those that were not charged."""

    dollars: Decimal
    unknown: int = 0
    unknown_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PersonSpending:
    """What one person used, over all models."""

    person_id: int
    name: str
    spent: Spending


@dataclass(frozen=True, slots=True)
class TierSpending:
    """What one tier, or one kind of media, used over all models."""

    tier: Tier | Media
    spent: Spending


@dataclass(frozen=True, slots=True)
class Day:
    """The usage of one day, one row per model, sorted by name."""

    date: datetime.date
    models: tuple[Spending, ...]


@dataclass(frozen=True, slots=True)
class TurnReport:
    """How the turns of a tier, or the councils, went; `models` has a report per answering model. p50 and p95 are
    seconds of whole turns (newest 1,000), `first` seconds to the first token (None: never measured). `dollars` sums the
    known costs, `unknown` counts the other calls."""

    tier: Tier | Literal["council"]
    model: str
    turns: int
    fallbacks: int
    timeouts: int
    escalations: int
    unanswered: int
    p50: float
    p95: float
    first: float | None
    dollars: Decimal
    unknown: int
    liked: int
    disliked: int
    models: tuple[TurnReport, ...] = ()


@dataclass(frozen=True, slots=True)
class RecentProblems:
    """How many of the newest turns did not go as planned."""

    turns: int
    fallbacks: int
    timeouts: int
    escalations: int

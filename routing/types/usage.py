"""Tokens and money that were spent, and who pays."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from routing.types.budgets import PayerKind, Reached
from routing.types.llm import Usage
from routing.types.messages import ChatKey
from routing.types.periods import Period
from routing.types.tiers import Tier

Voice = Literal["voice"]


VOICE: Voice = "voice"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call to a model, for the books; a voice message's has the tier VOICE. `seconds` is the model's own time.
    `charged` is what the limits of its payer were charged, in US dollars, where the provider did not count it."""

    tier: Tier | Voice
    model: str
    usage: Usage | None
    seconds: float
    charged: Decimal | None = None


def known_cost(calls: Iterable[CallRecord]) -> Decimal:
    """US dollars of the calls whose price is known."""
    return sum((each.usage.cost for each in calls if each.usage and each.usage.cost), Decimal(0))


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and money over a period; `unknown` counts the calls whose price nobody knows."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal
    unknown: int


@dataclass(slots=True)
class TurnCost:
    """One for a whole turn: `calls` are all that were made for it, also those that brought nothing; `consulted` of them
    were a council's. `over` is a limit that the turn went beyond all the same: because the owner only wants a warning,
    or (`cheapest`) because it is answered by the cheapest model."""

    person_id: int
    chat: ChatKey
    payer: PayerKind = "known"
    cheapest: bool = False
    over: Reached | None = None
    calls: list[CallRecord] = field(default_factory=list)
    consulted: int = 0

    @property
    def counted(self) -> int:
        """How many calls count towards the turn's maximum. A council has a maximum of its own."""
        return len(self.calls) - self.consulted


Rating = Literal[-1, 1]


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose spending, and when: one person's, one chat's with all its topics (only that of the `channels` that post
    there), or all there is."""

    period: Period
    person_id: int | None = None
    chat: tuple[str, str] | None = None
    channels: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """US dollars of the calls whose price is known, and of those that the provider did not count what was charged for
    them; how many calls have no known cost, and the tokens of those for which nothing was charged."""

    dollars: Decimal
    unknown: int = 0
    unknown_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PersonSpending:
    """What one person used, by all models."""

    person_id: int
    name: str
    spent: Spending


@dataclass(frozen=True, slots=True)
class TierSpending:
    """What one tier, or all voice messages, took by all models."""

    tier: Tier | Voice
    spent: Spending


@dataclass(frozen=True, slots=True)
class Day:
    """What was used on one day, a row a model, by name."""

    date: datetime.date
    models: tuple[Spending, ...]


@dataclass(frozen=True, slots=True)
class TurnReport:
    """How the turns of a tier, or the councils, went, and in `models` those that each model answered. Seconds are of
    whole turns (p50 and p95 of the newest 1,000), `first` of the first token (None: never measured). Dollars are of
    the calls whose price is known, `unknown` counts the others."""

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
class Trouble:
    """How many of the newest turns went another way than planned."""

    turns: int
    fallbacks: int
    timeouts: int
    escalations: int

"""What was spent, for limits and for people to see; and what keeps it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol

from routing.money.limits import PersonLimits
from routing.money.periods import Stretch
from routing.outcome import Voice
from routing.records import Spending
from routing.types import Tier

UNCOUNTED_TOKENS = 3_000
"""A call that the provider did not count is taken for so many tokens where unknown prices are reckoned with: a question
in a conversation, with the bot's own instructions."""

Rating = Literal[-1, 1]


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose spending, and when: one person's, one chat's with all its topics (only that of the `channels` that post
    there), or all there is."""

    stretch: Stretch
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


class SpendingStore(Protocol):
    """What was spent, added up."""

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        """One for each, in their order."""

    async def by_person(self, since: float = 0.0) -> tuple[PersonSpending, ...]:
        """Everyone who used something, the dearest first."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        """In the order of the tiers, those that were used."""

    async def by_day(self, days: Sequence[Stretch], person_id: int | None = None) -> tuple[Day, ...]:
        """Every day asked for, also those without any use."""


class BudgetStore(Protocol):
    """What the owner set for single people."""

    async def everyone(self) -> Mapping[int, PersonLimits]:
        """By person; those for whom nothing was set are left out."""

    async def set(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        """Both limits anew; audited. Empty ones take them away."""


class TurnStore(Protocol):
    """How turns went, from the facts that the ledger keeps."""

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        """What the person whose turn it was thinks of the answer; None takes it back. False: there is no such turn."""

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TurnReport, ...]:
        """In the order of the tiers, councils last; models by their turns. Of one person, or of everyone."""

    async def newest(self, limit: int) -> Trouble:
        """Of the newest turns, whosever; councils are none."""

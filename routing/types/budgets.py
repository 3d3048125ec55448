"""Spending limits and how far they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from routing.errors import ModelError
from routing.types.messages import UserKey
from routing.types.people import Role
from routing.types.periods import PeriodKind
from routing.types.prices import Price

Scope = Literal["person", "chat", "all"]


AtLimit = Literal["refuse", "cheapest", "warn"]


AT_LIMIT: tuple[AtLimit, ...] = get_args(AtLimit)


CEILINGS: dict[str, tuple[Scope, PeriodKind]] = {
    "perUserDailyUsd": ("person", "day"),
    "perUserMonthlyUsd": ("person", "month"),
    "perChatDailyUsd": ("chat", "day"),
    "perChatMonthlyUsd": ("chat", "month"),
    "totalDailyUsd": ("all", "day"),
    "totalMonthlyUsd": ("all", "month"),
}


@dataclass(frozen=True, slots=True)
class Ceiling:
    """US dollars that a person, a chat with all its topics, or all together may spend in a day or a month; `own`: the
    owner set it for this person."""

    scope: Scope
    period: PeriodKind
    dollars: Decimal
    own: bool = False


PayerKind = Literal["known", "guest", "channel"]
"""Whom a person's limit is for. Guests have one of their own, and the channels that post in a chat share it."""


def payer_kind(role: Role, user: UserKey) -> PayerKind:
    """Telegram gives chats, and so channels, negative ids."""
    if role != "guest":
        return "known"
    return "channel" if user.platform == "telegram" and user.user_id.startswith("-") else "guest"


@dataclass(frozen=True, slots=True)
class PersonLimits:
    """What the owner set for one person, in US dollars; None: what holds for everyone."""

    daily: Decimal | None = None
    monthly: Decimal | None = None


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What holds for everyone. Days and months are those of `zone`, the owner's: by their own zone people could open
    their limits early.

    Calls of unknown price are counted apart, and reckoned at `unknown`, US dollars a million tokens. Without it they
    take nothing of a limit and need one that is not used up; a configuration always has it. `guest` is what a guest
    may spend in a day.
    """

    dollars: Mapping[tuple[Scope, PeriodKind], Decimal] = field(default_factory=lambda: MappingProxyType({}))
    at_limit: AtLimit = "refuse"
    unknown: Decimal | None = None
    guest: Decimal | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))

    @property
    def assumed(self) -> Price | None:
        """The price to reckon with where nobody knows one."""
        return None if self.unknown is None else Price.flat(self.unknown)

    def ceilings(self, person: PersonLimits, payer: PayerKind = "known") -> tuple[Ceiling, ...]:
        """All that hold for this person, in any chat."""
        own: dict[tuple[Scope, PeriodKind], Decimal | None] = {
            ("person", "day"): person.daily,
            ("person", "month"): person.monthly,
        }
        found = []
        for key in CEILINGS.values():
            mine, usual = own.get(key), self.dollars.get(key)
            if key == ("person", "day") and payer != "known" and self.guest is not None:
                usual = self.guest if usual is None else min(usual, self.guest)
            if mine is not None:
                found.append(Ceiling(*key, mine, own=True))
            elif usual is not None:
                found.append(Ceiling(*key, usual))
        return tuple(found)


class BudgetExceeded(ModelError):
    """The call was not made: a limit of money has no room for it. `cheaper`: the owner wants the cheapest model to
    answer then."""

    def __init__(self, model: str, reached: Reached, cheaper: bool = False) -> None:
        ceiling = reached.standing.ceiling
        super().__init__(model, f"a limit of ${ceiling.dollars} a {ceiling.period} has no room for it")
        self.reached = reached
        self.cheaper = cheaper


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """How far a limit is used: what was `spent` (with what unknown prices are reckoned at), what calls under way may
    take (`held`), how many calls of unknown price there were; it opens again at `opens_at`, Unix seconds."""

    ceiling: Ceiling
    spent: Decimal
    held: Decimal
    unknown: int
    opens_at: float

    @property
    def left(self) -> Decimal:
        """US dollars, never below 0."""
        return max(Decimal(0), self.ceiling.dollars - self.spent - self.held)

    def fits(self, dollars: Decimal | None, held: bool = True) -> bool:
        """Whether there is room for a call. One that is free always fits, one of unknown price where anything is left;
        `held` False asks how it will be once the calls under way have cost nothing."""
        taken = self.spent + self.held if held else self.spent
        if dollars is None:
            return taken < self.ceiling.dollars
        return not dollars or taken + dollars <= self.ceiling.dollars


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit without room for a call; `needs` is what the call would cost, None where nobody knows."""

    standing: BudgetStatus
    needs: Decimal | None

    @property
    def never(self) -> bool:
        """The call alone is above the limit: there is no use in waiting."""
        return self.needs is not None and self.needs > self.standing.ceiling.dollars

    @property
    def busy(self) -> bool:
        """Only what is held for calls under way stands in the way: there may be room when they are done."""
        return self.standing.fits(self.needs, held=False)

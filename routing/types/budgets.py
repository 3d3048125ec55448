"""Spending limits and their usage, prices, and the days and months they apply to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from routing.errors import ModelError
from routing.types.messages import UserKey
from routing.types.people import Role

PeriodKind = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`, in Unix seconds; `date` is the first day."""

    date: date
    start: float
    end: float


def current(period: PeriodKind, now: float, zone: ZoneInfo) -> Period:
    """The day or month of `now`. Days have 23 to 25 hours when clocks change."""
    today = datetime.fromtimestamp(now, zone).date()
    if period == "day":
        return _period(today, today + timedelta(days=1), zone)
    first = today.replace(day=1)
    return _period(first, (first + timedelta(days=31)).replace(day=1), zone)


def days(now: float, count: int, zone: ZoneInfo) -> tuple[Period, ...]:
    """The last `count` days, ending today."""
    today = datetime.fromtimestamp(now, zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(count))]
    return tuple(_period(each, each + timedelta(days=1), zone) for each in dates)


def _period(first: date, after: date, zone: ZoneInfo) -> Period:
    return Period(first, _midnight(first, zone), _midnight(after, zone))


def _midnight(day: date, zone: ZoneInfo) -> float:
    """The first midnight of a day; derived from the date, because a night may have two."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token for prompts of more than `above` tokens; `cached` applies to tokens in the provider's
    cache."""

    input: Decimal
    output: Decimal
    cached: Decimal
    above: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rates, sorted by `above`: some providers charge more for every token of a long prompt."""

    rates: tuple[Rates, ...]

    @classmethod
    def flat(cls, per_million: Decimal) -> Price:
        """The owner's assumption for unknown prices: the same rate for every token."""
        each = per_million / MILLION
        return cls((Rates(each, each, each),))

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        """The cost of a call in US dollars; `input_tokens` includes `cached_tokens`."""
        rates = next((each for each in reversed(self.rates) if input_tokens > each.above), self.rates[0])
        fresh = max(0, input_tokens - cached_tokens)
        return fresh * rates.input + min(cached_tokens, input_tokens) * rates.cached + output_tokens * rates.output


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
    """A spending limit in US dollars per day or month, for a person, a chat with all its topics, or everyone together.
    `own`: the owner set it for this person."""

    scope: Scope
    period: PeriodKind
    dollars: Decimal
    own: bool = False


PayerKind = Literal["known", "guest", "channel"]
"""How a person's limit applies. Guests have their own limit; channels that post in a chat share one."""


def payer_kind(role: Role, user: UserKey) -> PayerKind:
    """Classify a payer."""
    if role != "guest":
        return "known"
    return "channel" if user.is_chat else "guest"


@dataclass(frozen=True, slots=True)
class PersonLimits:
    """A person's own limits in US dollars; None: the general limit applies."""

    daily: Decimal | None = None
    monthly: Decimal | None = None


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The general limits. Periods follow `zone`, the owner's time zone; with their own, people could reset limits
    early.

    Calls of unknown price are counted separately and charged at `unknown`, US dollars per million tokens. Without that
    rate they are free but need a limit that isn't used up; a loaded configuration always has a rate. `guest` is a
    guest's daily limit.
    """

    dollars: Mapping[tuple[Scope, PeriodKind], Decimal] = field(default_factory=lambda: MappingProxyType({}))
    at_limit: AtLimit = "refuse"
    unknown: Decimal | None = None
    guest: Decimal | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))

    @property
    def assumed(self) -> Price | None:
        """The price assumed for models of unknown price."""
        return None if self.unknown is None else Price.flat(self.unknown)

    def ceilings(self, person: PersonLimits, payer: PayerKind = "known") -> tuple[Ceiling, ...]:
        """All limits that apply to this person in any chat."""
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
    """The call was not made, because a spending limit has no room for it. `cheaper`: the owner wants the cheapest model
    to answer instead."""

    def __init__(self, model: str, reached: Reached, cheaper: bool = False) -> None:
        ceiling = reached.status.ceiling
        super().__init__(model, f"a limit of ${ceiling.dollars} a {ceiling.period} has no room for it")
        self.reached = reached
        self.cheaper = cheaper


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """The usage of a limit: `spent` (unknown prices at the assumed rate), `held` for running calls, and the number of
    calls of `unknown` price. It resets at `resets_at` (Unix seconds)."""

    ceiling: Ceiling
    spent: Decimal
    held: Decimal
    unknown: int
    resets_at: float

    @property
    def left(self) -> Decimal:
        """Remaining US dollars, never below 0."""
        return max(Decimal(0), self.ceiling.dollars - self.spent - self.held)

    def fits(self, dollars: Decimal | None, held: bool = True) -> bool:
        """Whether a call fits. Free calls always fit; calls of unknown price fit if anything is left. `held=False`
        ignores running calls."""
        taken = self.spent + self.held if held else self.spent
        if dollars is None:
            return taken < self.ceiling.dollars
        return not dollars or taken + dollars <= self.ceiling.dollars


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit without room for a call; `needs` is the cost of the call, None if unknown."""

    status: BudgetStatus
    needs: Decimal | None

    @property
    def never(self) -> bool:
        """The call alone exceeds the limit, so waiting doesn't help."""
        return self.needs is not None and self.needs > self.status.ceiling.dollars

    @property
    def busy(self) -> bool:
        """Only reservations of running calls block it, so there may be room when they finish."""
        return self.status.fits(self.needs, held=False)

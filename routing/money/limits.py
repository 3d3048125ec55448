"""How much may be spent, from `runtime-config.json` and from the owner's word on one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from routing.jsonfile import JsonObject
from routing.money.periods import Period
from routing.money.prices import Price
from routing.types import Role, UserKey

Scope = Literal["person", "chat", "all"]
AtLimit = Literal["refuse", "cheapest", "warn"]
AT_LIMIT: tuple[AtLimit, ...] = get_args(AtLimit)
UNKNOWN_PER_MILLION = Decimal(10)
"""US dollars a million tokens, in and out, to reckon with in a limit where nobody knows a price and the owner says
nothing: what the answers of the default balanced model cost (LiteLLM's map, gpt-5.1). Rather too much than nothing."""
MOST_DOLLARS = 1_000_000
"""More is a slip of the pen, and would come near the end of nano-dollars in 64 bits."""

CEILINGS: dict[str, tuple[Scope, Period]] = {
    "perUserDailyUsd": ("person", "day"),
    "perUserMonthlyUsd": ("person", "month"),
    "perChatDailyUsd": ("chat", "day"),
    "perChatMonthlyUsd": ("chat", "month"),
    "totalDailyUsd": ("all", "day"),
    "totalMonthlyUsd": ("all", "month"),
}
GUEST_KEY = "perGuestDailyUsd"
GUEST_DOLLARS = Decimal("0.25")
"""A day of a guest, where the owner says nothing: about 100 short answers of the default balanced model."""
KEYS = frozenset({*CEILINGS, GUEST_KEY, "atLimit", "assumeUnknownUsdPerMillion", "timeZone"})
"""What the section `budget` may hold."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """US dollars that a person, a chat with all its topics, or all together may spend in a day or a month; `own`: the
    owner set it for this person."""

    scope: Scope
    period: Period
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

    dollars: Mapping[tuple[Scope, Period], Decimal] = field(default_factory=lambda: MappingProxyType({}))
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
        own: dict[tuple[Scope, Period], Decimal | None] = {
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


def read_budget(section: JsonObject) -> BudgetLimits:
    """`budget`: seven limits in US dollars, atLimit, assumeUnknownUsdPerMillion, timeZone. Raises ConfigError."""
    found = {where: _dollars(section, key) for key, where in CEILINGS.items()}
    at_limit = next((each for each in AT_LIMIT if each == section.values.get("atLimit", "refuse")), None)
    if at_limit is None:
        raise section.file.fault((*section.path, "atLimit"), f"must be one of {', '.join(AT_LIMIT)}")
    return BudgetLimits(
        dollars=MappingProxyType({where: dollars for where, dollars in found.items() if dollars is not None}),
        at_limit=at_limit,
        unknown=_dollars(section, "assumeUnknownUsdPerMillion") or UNKNOWN_PER_MILLION,
        guest=_dollars(section, GUEST_KEY) if GUEST_KEY in section.values else GUEST_DOLLARS,
        zone=_zone(section),
    )


def _dollars(section: JsonObject, key: str) -> Decimal | None:
    value = section.values.get(key)
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST_DOLLARS:
        return Decimal(str(value))
    raise section.file.fault(
        (*section.path, key), f"must be a number above 0, at most {MOST_DOLLARS:,}, or null for none"
    )


def _zone(section: JsonObject) -> ZoneInfo:
    name = section.text("timeZone", "UTC")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path; a folder
        raise section.file.fault((*section.path, "timeZone"), "must be a time zone such as Europe/Berlin") from None

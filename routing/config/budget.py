"""How much may be spent, from `runtime-config.json` and from the owner's word on one person."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from zoneinfo import ZoneInfo

from routing.config.jsonfile import JsonObject
from routing.types.budgets import AT_LIMIT, CEILINGS, BudgetLimits

UNKNOWN_PER_MILLION = Decimal(10)
"""US dollars a million tokens, in and out, to reckon with in a limit where nobody knows a price and the owner says
nothing: what the answers of the default balanced model cost (LiteLLM's map, gpt-5.1). Rather too much than nothing."""
MOST_DOLLARS = 1_000_000
"""More is a slip of the pen, and would come near the end of nano-dollars in 64 bits."""

GUEST_KEY = "perGuestDailyUsd"
GUEST_DOLLARS = Decimal("0.25")
"""A day of a guest, where the owner says nothing: about 100 short answers of the default balanced model."""
KEYS = frozenset({*CEILINGS, GUEST_KEY, "atLimit", "assumeUnknownUsdPerMillion", "timeZone"})
"""What the section `budget` may hold."""


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

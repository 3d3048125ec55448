"""Spending limits from `runtime-config.json`."""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from zoneinfo import ZoneInfo

from routing.config.jsonfile import JsonObject
from routing.types.budgets import AT_LIMIT, CEILINGS, BudgetLimits

UNKNOWN_PER_MILLION = Decimal(10)
"""US dollars per million tokens, input and output, assumed for unknown prices by default: the output price of the
default balanced model (LiteLLM's map, gpt-5.1). Rather too high than free."""
MAX_DOLLARS = 1_000_000
"""Larger amounts are typing errors, and would approach the limit of nano-dollars in 64 bits."""

GUEST_KEY = "perGuestDailyUsd"
GUEST_DOLLARS = Decimal("0.25")
"""A guest's default daily limit: about 100 short answers of the default balanced model."""
KEYS = frozenset({*CEILINGS, GUEST_KEY, "atLimit", "assumeUnknownUsdPerMillion", "timeZone"})
"""Allowed keys of the section `budget`."""


def read_budget(section: JsonObject) -> BudgetLimits:
    """Read `budget`: seven limits in US dollars, atLimit, assumeUnknownUsdPerMillion, timeZone. Raises ConfigError."""
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
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_DOLLARS:
        return Decimal(str(value))
    raise section.file.fault(
        (*section.path, key), f"must be a number above 0, at most {MAX_DOLLARS:,}, or null for none"
    )


def _zone(section: JsonObject) -> ZoneInfo:
    name = section.text("timeZone", "UTC")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; a path; a folder
        raise section.file.fault((*section.path, "timeZone"), "must be a time zone such as Europe/Berlin") from None

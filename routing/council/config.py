"""What the owner may set for councils: `council` in `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.jsonfile import JsonObject

KEYS = frozenset({"confirmAboveUsd"})
"""What the section may hold."""
MOST_DOLLARS = 1_000_000
"""More is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class CouncilConfig:
    """A council that is expected to cost more than `confirm_above` US dollars asks before it begins."""

    confirm_above: Decimal = Decimal("0.25")


def read_council(section: JsonObject) -> CouncilConfig:
    """`council`: confirmAboveUsd; 0 asks before each that is not free. Raises ConfigError."""
    value = section.values.get("confirmAboveUsd")
    if value is None:
        return CouncilConfig()
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_DOLLARS:
        return CouncilConfig(Decimal(str(value)))
    raise section.file.fault((*section.path, "confirmAboveUsd"), f"must be a number from 0 to {MOST_DOLLARS:,}")

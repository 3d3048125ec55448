"""What the owner may set for councils: `council` in `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.config.jsonfile import JsonObject

KEYS = frozenset({"confirmAboveUsd", "toolConfirmAboveUsd"})
"""Keys of the section."""
MOST_DOLLARS = 1_000_000
"""A larger number is a typing error."""


@dataclass(frozen=True, slots=True)
class CouncilConfig:
    """The expected costs, in US dollars, above which a person has to confirm a council: one that they asked for, and
    one that a model wants to consult."""

    confirm_above: Decimal = Decimal("0.25")
    tool_confirm_above: Decimal = Decimal("0.10")


def read_council(section: JsonObject) -> CouncilConfig:
    """`council`: confirmAboveUsd, toolConfirmAboveUsd; with 0 every council that is not free is confirmed. Raises
    ConfigError."""
    usual = CouncilConfig()
    return CouncilConfig(
        confirm_above=_dollars(section, "confirmAboveUsd", usual.confirm_above),
        tool_confirm_above=_dollars(section, "toolConfirmAboveUsd", usual.tool_confirm_above),
    )


def _dollars(section: JsonObject, key: str, usual: Decimal) -> Decimal:
    value = section.values.get(key)
    if value is None:
        return usual
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_DOLLARS:
        return Decimal(str(value))
    raise section.file.fault((*section.path, key), f"must be a number from 0 to {MOST_DOLLARS:,}")

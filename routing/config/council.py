"""The section `council` of `runtime-config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.config.jsonfile import JsonObject

KEYS = frozenset({"confirmAboveUsd", "toolConfirmAboveUsd"})
"""Allowed keys of the section."""
MAX_DOLLARS = 1_000_000
"""Larger amounts are typing errors."""


@dataclass(frozen=True, slots=True)
class CouncilConfig:
    """Expected costs in US dollars above which a council needs a confirmation: one that a person asks for, and one that
    a model asks for."""

    confirm_above: Decimal = Decimal("0.25")
    tool_confirm_above: Decimal = Decimal("0.10")


def read_council(section: JsonObject) -> CouncilConfig:
    """Read `council`: confirmAboveUsd, toolConfirmAboveUsd; 0 requires it for every council that isn't free. Raises
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
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_DOLLARS:
        return Decimal(str(value))
    raise section.file.fault((*section.path, key), f"must be a number from 0 to {MAX_DOLLARS:,}")

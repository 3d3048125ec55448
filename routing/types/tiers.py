"""The four tiers."""

from __future__ import annotations

from typing import Literal, get_args

Tier = Literal["balanced", "smart", "coding", "deep"]
TIERS: tuple[Tier, ...] = get_args(Tier)
DEFAULT_TIER: Tier = "balanced"
AUTO: Literal["auto"] = "auto"
TierChoice = Tier | Literal["auto"]
"""What /tier accepts; with "auto" each message chooses its tier."""

"""The four tiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Tier = Literal["balanced", "smart", "coding", "deep"]
TIERS: tuple[Tier, ...] = get_args(Tier)
DEFAULT_TIER: Tier = "balanced"
AUTO: Literal["auto"] = "auto"
NEXT_TIER: Mapping[Tier, Tier] = {"balanced": "smart", "smart": "deep", "coding": "deep", "deep": "deep"}
"""The tier for a harder question than this one's."""
TierChoice = Tier | Literal["auto"]
"""What /tier accepts; with "auto" each message chooses its tier."""

"""Who answers when a limit of money is reached and the owner wants the cheapest model to go on."""

from __future__ import annotations

from collections.abc import Collection

from routing.decisions import ModelChoice
from routing.failover.candidates import Needs
from routing.models.choice import Models
from routing.money.prices import PriceList, cheapest_first
from routing.types import TIERS, Preferences

INPUT_TOKENS, OUTPUT_TOKENS = 3_000, 1_000
"""Of the call by which prices are compared: a question in a conversation, an answer of a page."""


def cheapest(
    models: Models, preferences: Preferences, needs: Needs, tried: Collection[str], prices: PriceList
) -> ModelChoice | None:
    """Of all tiers' models that have a key, are in health and have what is needed. None where no price is known: what
    nobody knows the price of is not cheap."""
    choices = [models.choose(tier, preferences, needs, tried) for tier in TIERS]
    able = dict.fromkeys(model for each in choices for model in (each.model, *each.fallbacks) if model not in tried)
    order = cheapest_first(able, prices, INPUT_TOKENS, OUTPUT_TOKENS)
    if not order:
        return None
    model, *rest = order
    return ModelChoice(model, models.reasoning(model, "low"), "cheapest", tuple(rest))

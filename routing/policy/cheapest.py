"""Finds the cheapest model, for owners who want it to answer once a spending limit is reached."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from routing.policy.candidates import Needs
from routing.policy.models import Models
from routing.ports import PriceList
from routing.types.decisions import ModelChoice
from routing.types.people import Preferences
from routing.types.tiers import TIERS


def cheapest_first(models: Iterable[str], prices: PriceList, input_tokens: int, output_tokens: int) -> tuple[str, ...]:
    """Sort models by the price of an answer; ties keep their order. Models of unknown price are left out."""
    known = [(price.cost(input_tokens, output_tokens), model) for model in models if (price := prices(model))]
    return tuple(model for _, model in sorted(known, key=lambda each: each[0]))


INPUT_TOKENS, OUTPUT_TOKENS = 3_000, 1_000
"""The call by which prices are compared: a question in a conversation, an answer of one page."""


def cheapest(
    models: Models, preferences: Preferences, needs: Needs, tried: Collection[str], prices: PriceList
) -> ModelChoice | None:
    """The cheapest usable model of all tiers: it has a key, is healthy and meets the needs. None if no price is
    known."""
    choices = [models.choose(tier, preferences, needs, tried) for tier in TIERS]
    able = dict.fromkeys(model for each in choices for model in (each.model, *each.fallbacks) if model not in tried)
    order = cheapest_first(able, prices, INPUT_TOKENS, OUTPUT_TOKENS)
    if not order:
        return None
    model, *rest = order
    return ModelChoice(model, models.reasoning(model, "low"), "cheapest", tuple(rest))

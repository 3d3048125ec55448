"""Who answers when a limit of money is reached and the owner wants the cheapest model to go on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from routing.policy.candidates import Needs
from routing.policy.models import Models
from routing.ports import PriceList
from routing.types.decisions import ModelChoice
from routing.types.people import Preferences
from routing.types.tiers import TIERS


def cheapest_first(models: Iterable[str], prices: PriceList, input_tokens: int, output_tokens: int) -> tuple[str, ...]:
    """By what they would take for an answer; of equals the first comes first. Models of unknown price are left out:
    they are never called cheap."""
    known = [(price.cost(input_tokens, output_tokens), model) for model in models if (price := prices(model))]
    return tuple(model for _, model in sorted(known, key=lambda each: each[0]))


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

"""Prices of calls from LiteLLM's price map."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import ModuleType
from typing import Any

from routing.bounded import Bounded
from routing.types.budgets import Price, Rates
from routing.types.llm import GeneratedImage, ProviderProfile
from routing.types.model_names import OWN_MACHINE

_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_REMEMBERED = 1024
_CHARACTERS_PER_TOKEN, _CHARACTERS_PER_SECOND = 4, 12
_PROMPT_TOKENS, _PICTURE_TOKENS = 100, 1_100
"""OpenAI counts 1,056 for a square picture of medium quality."""


def cost(litellm: ModuleType, model: str, profile: ProviderProfile, usage: Any) -> Decimal | None:
    """The cost of a call in US dollars; None if the price is unknown.

    LiteLLM returns 0.0 for models that it doesn't know and for some that are not free, so 0 counts as unknown unless
    the model runs locally. Prices of custom addresses are unknown, too.
    """
    if profile.name in OWN_MACHINE:
        return Decimal(0)
    if _is_elsewhere(profile):
        return None
    name = model.partition("/")[2]
    if model not in litellm.model_cost and name not in litellm.model_cost:
        return None
    try:
        into, out = litellm.cost_per_token(model=name, custom_llm_provider=profile.name, usage_object=usage)
    except (litellm.exceptions.ModelNotMappedError, LookupError, TypeError, ValueError):  # gaps in litellm's map
        return None
    total = Decimal(str(into)) + Decimal(str(out))
    return total or None


def _is_elsewhere(profile: ProviderProfile) -> bool:
    """Whether the owner set a custom address, which has its own prices."""
    return profile.base_url is not None and profile.name not in ("openai", "anthropic", "gemini")


class PriceMap:
    """`routing.ports.PriceList`. Derives prices per token from `cost`, so that prices and charges always agree. The
    first lookup of a model takes some milliseconds. `profile` resolves a provider."""

    def __init__(self, litellm: ModuleType, profile: Callable[[str], ProviderProfile]) -> None:
        self._litellm = litellm
        self._profile = profile
        self._known = Bounded[tuple[str, str | None], Price | None](_REMEMBERED)  # people can enter any model name

    def __call__(self, model: str) -> Price | None:
        """The price of `provider/model`."""
        profile = self._profile(model.partition("/")[0])
        key = (model, profile.base_url)
        if key not in self._known:
            self._known[key] = self._price(model, profile)
        return self._known[key]

    def per_second(self, model: str) -> Decimal | None:
        """The price of one second of audio, in US dollars; None if unknown."""
        profile = self._profile(model.partition("/")[0])
        if profile.name in OWN_MACHINE:
            return Decimal(0)
        if _is_elsewhere(profile):
            return None
        price = self._entry(model).get("input_cost_per_second")
        return Decimal(str(price)) if price else None

    def speech(self, model: str, characters: int, seconds: int | None) -> Decimal | None:
        """The price of speaking a text, in US dollars: by its characters, or by tokens and the seconds of the sound,
        which are estimated if they are not known."""
        profile = self._profile(model.partition("/")[0])
        if profile.name in OWN_MACHINE:
            return Decimal(0)
        if _is_elsewhere(profile):
            return None
        entry = self._entry(model)
        if each := entry.get("input_cost_per_character"):
            return Decimal(str(each)) * characters
        if not (each := entry.get("output_cost_per_second")):
            return None
        tokens = Decimal(str(entry.get("input_cost_per_token") or 0)) * (characters // _CHARACTERS_PER_TOKEN + 1)
        return tokens + Decimal(str(each)) * (seconds or characters // _CHARACTERS_PER_SECOND + 1)

    def picture(self, model: str, image: GeneratedImage | None) -> Decimal | None:
        """The price of a picture, in US dollars: a fixed one, or that of its tokens, which are estimated if not
        known."""
        profile = self._profile(model.partition("/")[0])
        if profile.name in OWN_MACHINE:
            return Decimal(0)
        if _is_elsewhere(profile):
            return None
        entry = self._entry(model)
        if each := entry.get("output_cost_per_image") or entry.get("input_cost_per_image"):
            return Decimal(str(each))
        if not (each := entry.get("output_cost_per_image_token")):
            return None
        into = (image and image.input_tokens) or _PROMPT_TOKENS
        out = (image and image.output_tokens) or _PICTURE_TOKENS
        return Decimal(str(entry.get("input_cost_per_token") or 0)) * into + Decimal(str(each)) * out

    def _entry(self, model: str) -> Mapping[str, Any]:
        known = self._litellm.model_cost
        entry: Mapping[str, Any] = known.get(model) or known.get(model.partition("/")[2], {})
        return entry

    def _price(self, model: str, profile: ProviderProfile) -> Price | None:
        rates = [self._rates(model, profile, above) for above in sorted({0, *self._steps(model)})]
        known = tuple(each for each in rates if each is not None)
        return Price(known) if known else None

    def _steps(self, model: str) -> set[int]:
        """Prompt lengths, in tokens, at which the price per token changes."""
        found = set()
        for name in (model, model.partition("/")[2]):
            entry = self._litellm.model_cost.get(name, {})
            found |= {1000 * int(step.group(1)) for key in entry if (step := _ABOVE.fullmatch(key))}
            found |= {int(each["range"][0]) for each in entry.get("tiered_pricing") or () if "range" in each}
        return found

    def _rates(self, model: str, profile: ProviderProfile, above: int) -> Rates | None:
        """Prices per token for prompts of more than `above` tokens."""

        def ask(output: int = 0, cached: int = 0) -> Decimal | None:
            details = {"cached_tokens": cached}
            counted = self._litellm.Usage(
                prompt_tokens=above + 1, completion_tokens=output, prompt_tokens_details=details
            )
            return cost(self._litellm, model, profile, counted)

        both = ask(output=above + 1)
        if both is None:
            return None
        into, remembered = ask() or Decimal(0), ask(cached=above + 1) or Decimal(0)
        tokens = above + 1
        return Rates(_each(into, tokens), _each(both - into, tokens), _each(remembered, tokens), above)


def _each(total: Decimal, tokens: int) -> Decimal:
    """US dollars per token, rounded to remove floating-point noise."""
    return Decimal(f"{total / tokens:.9g}")

"""What a call cost, from the provider's own count and LiteLLM's price map; an unknown price stays unknown."""

from __future__ import annotations

from decimal import Decimal
from types import ModuleType
from typing import Any

from routing.calls import ProviderProfile
from routing.models.choice import LOCAL_PROVIDER

FREE_PROVIDERS = frozenset({LOCAL_PROVIDER, "ollama", "ollama_chat", "lm_studio", "llamafile"})
"""They run on the owner's machine."""


def cost(litellm: ModuleType, model: str, profile: ProviderProfile, usage: Any) -> Decimal | None:
    """US dollars; None when nobody knows.

    The library answers 0.0 for models that it does not know and for some that are not free, so 0 is unknown unless
    the model runs at home. An address of one's own has no known price either.
    """
    if profile.name in FREE_PROVIDERS:
        return Decimal(0)
    if profile.base_url is not None and profile.name not in ("openai", "anthropic", "gemini"):
        return None
    name = model.partition("/")[2]
    if model not in litellm.model_cost and name not in litellm.model_cost:
        return None
    try:
        into, out = litellm.cost_per_token(model=name, custom_llm_provider=profile.name, usage_object=usage)
    except Exception:  # the library raises the bare class where its map has a gap
        return None
    total = Decimal(str(into)) + Decimal(str(out))
    return total or None

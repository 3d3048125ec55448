"""Resolves a model to LiteLLM's model name, API key and address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from routing.errors import KeyRejected, ModelUnknown, Reason
from routing.types.llm import NO_KEY, ProviderProfile
from routing.types.model_names import is_model_name


def resolve_endpoint(model: str, profile: ProviderProfile) -> dict[str, Any]:
    """LiteLLM's model name, the key, and the address if the provider's default is not used. Raises ModelUnknown for a
    name that could lead to another address, KeyRejected if the key is missing."""
    provider, _, name = model.partition("/")
    if not is_model_name(model, profile.api_type):
        raise ModelUnknown(model, Reason("this is not a valid model name"))
    where: dict[str, Any] = {"model": f"{profile.api_type or provider}/{name}"}
    if profile.api_key is None and profile.base_url is None:
        words = "no key: set {variable} (or llm.providers.{provider}.apiKey)"
        raise KeyRejected(model, Reason(words, variable=profile.variable, provider=profile.name))
    where["api_key"] = profile.api_key or NO_KEY
    if profile.base_url is not None:
        where["api_base"] = _with_path(profile.base_url, profile.api_type)
        where["_skip_responses_api_bridge"] = True  # custom endpoints support /chat/completions, not /responses
    return where


def _with_path(base_url: str, api_type: str | None) -> str:
    """Add the protocol's usual path to an address without one."""
    usual = {"openai": "/v1", "gemini": "/v1beta"}.get(api_type or "", "")
    bare = base_url.rstrip("/")
    return bare if urlsplit(bare).path else bare + usual

"""Asks providers for their current models, and stores the result in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
from filelock import FileLock

from routing.catalog.provider_models import LIST_FORMATS, DiscoveryError, Listing
from routing.config import jsonfile
from routing.config.kinds import ADDRESS
from routing.types.llm import NO_KEY, ApiType, ProviderProfile
from routing.types.model_names import OLLAMA_NAMES, is_model_name

# Addresses of providers without a base URL. Keys are sent only to their own provider.
_HOMES: Mapping[tuple[str, ApiType], str] = {
    ("openai", "openai"): "https://api.openai.com/v1",
    ("anthropic", "anthropic"): "https://api.anthropic.com/v1",
    ("gemini", "gemini"): "https://generativelanguage.googleapis.com/v1beta",
    ("groq", "openai"): "https://api.groq.com/openai/v1",
    ("mistral", "openai"): "https://api.mistral.ai/v1",
    ("deepseek", "openai"): "https://api.deepseek.com/v1",
    ("xai", "openai"): "https://api.x.ai/v1",
    ("openrouter", "openai"): "https://openrouter.ai/api/v1",
}
PROVIDERS = tuple(provider for provider, _ in _HOMES)
"""Providers that only need a key."""


@dataclass(frozen=True, slots=True)
class DiscoveredModel:
    """A model as `provider/model`, with the provider's display name."""

    id: str
    display_name: str


async def discover(profile: ProviderProfile, client: httpx.AsyncClient | None = None) -> tuple[DiscoveredModel, ...]:
    """List the provider's models by display name, within the profile's time limit.

    Raises DiscoveryError: status 400 for our configuration, 502 for the provider.
    """
    provider = profile.name
    key = _key(profile)
    api_type = profile.api_type or "openai"
    url = _models_url(profile, api_type)
    form = LIST_FORMATS[api_type]
    async with AsyncExitStack() as stack:
        web = client if client is not None else await stack.enter_async_context(httpx.AsyncClient())
        listing = Listing(web, provider, profile.variable, form, key)
        try:
            async with asyncio.timeout(profile.timeout_seconds):
                rows = await listing.everything(url)
        except TimeoutError as error:
            sentence = f"{provider} did not list its models within {profile.timeout_seconds:g} s."
            raise DiscoveryError(502, sentence) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DiscoveryError(502, f"{provider} can't be reached ({type(error).__name__}).") from error
    models = {name: DiscoveredModel(f"{provider}/{name}", shown) for name, shown in rows}
    return tuple(sorted(models.values(), key=lambda model: (model.display_name.casefold(), model.id)))


def _key(profile: ProviderProfile) -> str:
    provider, variable = profile.name, profile.variable
    key = (profile.api_key or "").strip() or (NO_KEY if provider in OLLAMA_NAMES else "")
    if not key:
        sentence = f"No key for {provider}: set {variable} or llm.providers.{provider}.apiKey."
        raise DiscoveryError(400, sentence)
    return sendable(key, variable)


def sendable(key: str, variable: str) -> str:
    """The key, which becomes a header. Raises DiscoveryError 400 for a character that no header can have."""
    if not (key.isascii() and key.isprintable()):
        raise DiscoveryError(400, f"The key in {variable} has invalid characters: paste it again.")
    return key


def _models_url(profile: ProviderProfile, api_type: ApiType) -> httpx.URL:
    """The address of the list; a base URL without a path gets the provider's usual one."""
    url = address_of(profile, _HOMES.get((profile.name, api_type), ""))
    path = url.path.rstrip("/") or LIST_FORMATS[api_type].usual_path
    return url.copy_with(path=f"{path}/models", fragment=None)


def address_of(profile: ProviderProfile, home: str) -> httpx.URL:
    """The provider's base URL, else `home`. Raises DiscoveryError 400 for an invalid address."""
    setting = f"llm.providers.{profile.name}.baseUrl"
    base = (profile.base_url or "").strip() or home
    if not base:
        raise DiscoveryError(400, f"The address of {profile.name} is not known: set {setting}.")
    try:
        ADDRESS.read(base)
        return httpx.URL(base)
    except (ValueError, httpx.InvalidURL) as error:
        raise DiscoveryError(400, f"{setting} {ADDRESS.rule}.") from error


def save_discovered(path: Path, provider: str, models: Collection[DiscoveredModel]) -> None:
    """Store the models of a provider; other providers' lists stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=10):
        document = jsonfile.load(path).document if path.exists() else {}
        rows = [{"id": model.id, "displayName": model.display_name} for model in models]
        jsonfile.write(path, {**document, provider: rows})


def load_discovered(path: Path) -> frozenset[str]:
    """All valid `provider/model` names in the file; none if there is no file. Raises ConfigError."""
    if not path.exists():
        return frozenset()
    file = jsonfile.load(path)
    names: set[str] = set()
    for provider, rows in file.document.items():
        if not isinstance(rows, list):
            raise file.fault((provider,), "must be a list")
        for at, row in enumerate(rows):
            name = row.get("id") if isinstance(row, dict) else None
            if not isinstance(name, str):
                raise file.fault((provider, at), "must be an object with an id")
            if is_model_name(name):
                names.add(name)
    return frozenset(names)

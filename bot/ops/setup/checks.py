"""Asks services whether they accept what was typed."""

from __future__ import annotations

import time
from dataclasses import replace

import httpx
from pydantic import SecretStr

from bot.adapters.shared.descriptor import BotAccount, PlatformDescriptor
from bot.config.workspace import Workspace
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.providers import ask_models
from bot.ops.setup.draft import Draft
from bot.ops.web import client
from routing.catalog.discovery import discover
from routing.catalog.ollama import running_ollama
from routing.errors import ModelError, Reason
from routing.types.model_names import OLLAMA, provider_of

SECONDS = 15.0
"""Timeout for a service. A model may take five times as long."""
OLLAMA_SECONDS = 2.0


async def identify(draft: Draft, platform: PlatformDescriptor, token: str) -> BotAccount:
    """The bot of a token. Raises ConfigError for a refused token, PlatformSilent if there is no answer."""
    settings = draft.environment.settings.model_copy(update={platform.enabled_by: SecretStr(token)})
    return await platform.identify(settings, SECONDS)


def tier_model(draft: Draft, provider: str) -> str | None:
    """The first model of the provider in the pools of the tiers; None if no tier uses the provider."""
    pools = draft.models.config.pools.values()
    return next((model for pool in pools for model in pool if provider_of(model) == provider), None)


async def offered(draft: Draft, provider: str) -> tuple[str, ...]:
    """The models that a provider lists, as provider/model. Raises DiscoveryError."""
    profile = replace(draft.models.config.profile(provider), timeout_seconds=SECONDS)
    async with client(draft.environment.settings.https_proxy) as web:
        return tuple(model.id for model in await discover(profile, web))


async def probe_model(draft: Draft, model: str) -> ModelError | None:
    """Ask a model for one word; the error if it does not answer."""
    environment = draft.environment
    inspection = Inspection(environment, Workspace(environment), time.time, SECONDS)
    return (await ask_models(inspection, draft.models, [model])).get(model)


def refused_key(title: str) -> Reason:
    """What to say to a key that its provider refuses."""
    return Reason("{title} refuses the key. Copy it whole, or make a new one.", title=title)


async def find_ollama(draft: Draft) -> str | None:
    """The best model of an Ollama that is running, as ollama/model; None if there is none."""
    base = draft.models.config.profile(OLLAMA).base_url or ""
    async with httpx.AsyncClient(timeout=OLLAMA_SECONDS, trust_env=False) as web:
        found = await running_ollama(web, base.rstrip("/").removesuffix("/v1"), OLLAMA_SECONDS)
    return found.best if found is not None else None

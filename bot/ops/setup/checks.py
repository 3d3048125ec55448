"""Asks services whether they accept a token, a key or an address."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import httpx
from pydantic import SecretStr

from bot.adapters.shared.descriptor import BotAccount, PlatformDescriptor
from bot.config.workspace import Workspace
from bot.ops.checks.inspection import Inspection
from bot.ops.checks.providers import ask_models
from bot.ops.setup.draft import Draft
from bot.ops.web import client
from routing.catalog.discovery import PROVIDERS, discover
from routing.catalog.ollama import RunningOllama, address, running_ollama
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import KeyRejected, OutOfCredit, RateLimited, Reason
from routing.types.llm import NO_KEY
from routing.types.model_names import OLLAMA, OWN_MACHINE, provider_of

TITLES = {
    "openai": "OpenAI",
    "anthropic": "Anthropic (Claude)",
    "gemini": "Google (Gemini)",
    "xai": "xAI",
    "openrouter": "OpenRouter",
    "deepseek": "DeepSeek",
}
"""Names that are not the capitalised name of the provider."""
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
    profile = draft.models.config.profile(provider)
    profile = replace(profile, api_key=profile.api_key or NO_KEY, timeout_seconds=SECONDS)
    async with client(draft.environment.settings.https_proxy) as web:
        return tuple(model.id for model in await discover(profile, web))


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a provider's check; `words` is a sentence about it.

    works: a model answers, or the provider lists its models. unsure: it can't be checked yet. refused: it refuses the
    key, or needs one. busy: it accepts the key, but does not answer now. fails: everything else.
    """

    verdict: Literal["works", "unsure", "refused", "busy", "fails"]
    words: str


async def check_provider(draft: Draft, provider: str, model: str = "") -> CheckResult:
    """Ask a model for one word, by default one that a tier uses. If there is none, or no key, ask the provider for its
    list of models."""
    has_key = bool(draft.models.config.profile(provider).api_key)
    if not model and (has_key or provider in OWN_MACHINE):
        model = tier_model(draft, provider) or ""
    return await (_ask_model(draft, model, has_key) if model else _ask_for_list(draft, provider, has_key))


async def _ask_model(draft: Draft, model: str, has_key: bool) -> CheckResult:
    title, environment = title_of(provider_of(model)), draft.environment
    inspection = Inspection(environment, Workspace(environment), time.time, SECONDS)
    error = (await ask_models(inspection, draft.models, [model])).get(model)
    if error is None:
        return CheckResult("works", Reason("{title}: {model} answers.", title=title, model=model))
    if isinstance(error, KeyRejected):
        return _refused(title) if has_key else CheckResult("refused", Reason("{title} needs a key.", title=title))
    why = error.raw or error.reason
    if isinstance(error, OutOfCredit | RateLimited):
        words = "{title} accepts the key, but {model} does not answer now: {why}."
        return CheckResult("busy", Reason(words, title=title, model=model, why=why))
    return CheckResult("fails", Reason("{model} does not answer: {why}.", model=model, why=why))


async def _ask_for_list(draft: Draft, provider: str, has_key: bool) -> CheckResult:
    title = title_of(provider)
    try:
        count = len(await offered(draft, provider))
    except DiscoveryError as error:
        if error.upstream not in (401, 403):
            return CheckResult("fails", str(error))
        if has_key:
            return _refused(title)
        words = "{title}: {address} answers, but can't be checked further without a key."
        address = draft.models.config.profile(provider).base_url
        return CheckResult("unsure", Reason(words, title=title, address=address))
    words = "{title} lists {count} models. None was tested, because {why}."
    why = Reason("no tier uses one" if has_key or provider in OWN_MACHINE else "there is no key")
    return CheckResult("works", Reason(words, title=title, count=count, why=why))


def _refused(title: str) -> CheckResult:
    return CheckResult("refused", Reason("{title} refuses the key. Copy it whole, or make a new one.", title=title))


def given_providers(draft: Draft) -> tuple[str, ...]:
    """Providers with a key in the process environment, those of the tiers first. Other programs have variables of that
    form, too, so the provider must be known, used by a tier, or have an address."""
    config = draft.models.config
    used = dict.fromkeys(provider_of(model) for pool in config.pools.values() for model in pool)
    addressed = (name for name, profile in config.profiles.items() if profile.base_url)
    return tuple(name for name in dict.fromkeys((*used, *PROVIDERS, *addressed)) if draft.given(variable(name)))


async def find_ollama(draft: Draft) -> RunningOllama | None:
    """The Ollama at the draft's address; None if it does not answer or has no model that can chat."""
    base = draft.models.config.profile(OLLAMA).base_url or ""
    async with httpx.AsyncClient(timeout=OLLAMA_SECONDS, trust_env=False) as web:
        return await running_ollama(web, base.rstrip("/").removesuffix("/v1"), OLLAMA_SECONDS)


async def with_given_ollama(draft: Draft) -> tuple[Draft, CheckResult | None]:
    """The draft with OLLAMA_HOST of the process environment if an Ollama answers there, and what was found; None if it
    is not set, or if runtime-config.json has another address."""
    host = draft.saved.given.get("OLLAMA_HOST", "").strip()
    where = address(host)
    if not host or draft.models.config.profile(OLLAMA).base_url != f"{where}/v1":
        return draft, None
    found = await find_ollama(draft)
    if found is None:
        words = "OLLAMA_HOST is not saved: no Ollama with a model that can chat answers at {address}."
        return draft, CheckResult("unsure", Reason(words, address=where))
    words = "Ollama answers at {address} and has {model}."
    kept = draft.put_given("OLLAMA_HOST")
    return kept, CheckResult("works", Reason(words, address=where, model=found.best.partition("/")[2]))


def title_of(provider: str) -> str:
    """The provider's name as people write it."""
    return TITLES.get(provider, provider.capitalize())

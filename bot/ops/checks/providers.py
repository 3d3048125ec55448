"""Checks of the tiers' models and sizes, provider keys, transcription, and the local model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot import keyless
from bot.findings import Finding, fail, ok, warn
from bot.ops.checks.inspection import Inspection
from bot.ops.model_probe import probe
from bot.ops.web import client
from routing.catalog.discovery import DiscoveredModel, discover
from routing.catalog.ollama import OllamaModels
from routing.catalog.provider_models import DiscoveryError
from routing.catalog.sizes import UNKNOWN
from routing.config.contracts import DEFAULT_FALLBACKS, single_vendor_pools
from routing.config.runtime import RouterConfig, parse_pool
from routing.critic.critic import judges
from routing.errors import (
    BadModelRequest,
    ConfigError,
    KeyRejected,
    ModelError,
    ModelUnknown,
    OutOfCredit,
    PolicyRefused,
    Unreachable,
)
from routing.llm.adapter import LiteLlm
from routing.llm.local.runtime import LocalRuntime
from routing.llm.local.speech import INSTALL, INSTALL_VOICES, LocalSpeech
from routing.llm.local.weights import available, engine_installed, find
from routing.llm.media.models import MediaModels
from routing.policy.models import Models
from routing.ports import MediaKind
from routing.types.decisions import SIZES
from routing.types.llm import ProviderProfile
from routing.types.model_names import LOCAL_PROVIDER, OLLAMA, provider_of
from routing.types.people import Preferences
from routing.types.tiers import TIERS, Tier

_REFUSED = (401, 403)
ANSWER_NETWORKS = 5
"""Timeout of a model's answer, as a multiple of the network timeout: the model may have to be loaded first."""


async def tiers(inspection: Inspection) -> list[Finding]:
    """Which models answer for each tier. A broken file is reported by the configuration check."""
    models = _models(inspection)
    if models is None:
        return []
    if any((ignored := models.ignored_level(tier)) and not ignored.levels for tier in TIERS):
        llm = LiteLlm(LocalRuntime(inspection.workspace.models), models.catalog)
        await llm.ready()  # its model map may have models that the catalogue lacks
        models = Models(models.config, models.catalog, library_levels=llm.levels)
    await keyless.detect_ollama(models, inspection.network_seconds)
    chosen = {tier: models.configured(tier, Preferences()) for tier in TIERS}
    asked = dict.fromkeys(model for choice in chosen.values() for model in (choice.model, *choice.fallbacks))
    failed = await ask_models(inspection, models, list(asked))
    return [finding for tier in TIERS for finding in _tier(tier, models, failed)]


async def pools(inspection: Inspection) -> list[Finding]:
    """Tiers with models of only one provider."""
    models = _models(inspection)
    if models is None:
        return []
    fix = "Add a model of another provider to tiers.<tier>.pool or to the tier's variable."
    words = "Only one provider here ({vendor}): if it fails, nothing can step in."
    alone = single_vendor_pools(models.config.contracts.values()).items()
    return [
        warn(f"pool {tier}", words.format(vendor=vendor), fix) for tier, vendor in alone if vendor != LOCAL_PROVIDER
    ]


async def sizes(inspection: Inspection) -> list[Finding]:
    """Whether the size class of every tier's model is known. Ollama is asked if the name does not say."""
    name, models = "model sizes", _models(inspection)
    if models is None:
        return []
    wanted = sorted(_configured_models(models.config))
    asked = [model for model in wanted if not models.size(model).known]
    await models.stated.ask()
    unknown = [model for model in asked if not models.size(model).known]
    if unknown:
        fix = f'Set "sizeClass" to {", ".join(SIZES[:-1])} or {SIZES[-1]} in their entries in models/models.json.'
        return [warn(name, f"unknown, treated as {UNKNOWN}: {', '.join(unknown)}", fix)]
    return [ok(name, "known for every model of the tiers")]


async def keys(inspection: Inspection) -> list[Finding]:
    """Whether every key works: fetches all providers' model lists concurrently."""
    models = _models(inspection)
    if models is None:
        return []
    wanted = _configured_models(models.config, *inspection.environment.settings.media_models.values())
    asked = [profile for profile in models.config.profiles.values() if profile.api_key]
    return list(await asyncio.gather(*(_provider(inspection, profile, wanted) for profile in asked)))


async def critic(inspection: Inspection) -> list[Finding]:
    """Whether a model of another vendor can check answers, for each tier that wants that."""
    models = _models(inspection)
    if models is None:
        return []
    wanted = [
        each.tier
        for each in models.config.contracts.values()
        if each.requires_verifier
        or each.requires_peer_review
        or (each.tier == "balanced" and models.config.critic.enabled)
    ]
    authors = dict.fromkeys(models.configured(tier, Preferences()).model for tier in wanted)
    return [finding for author in authors for finding in _critic_findings(models, author)]


def _critic_findings(models: Models, author: str) -> list[Finding]:
    found = judges(models, models.config.critic, author)
    if not found:
        fix = "Add a key for another vendor, or set critic.model; until then no answer is checked."
        return [warn("critic", f"no model of another vendor can check the answers of {author}", fix)]
    return [ok("critic", f"{found[0]} checks the answers of {author}")]


async def voice(inspection: Inspection) -> list[Finding]:
    """Which models transcribe, speak and make images, and whether those of the settings can be called."""
    models = _models(inspection)
    if models is None:
        return []
    settings, speech = inspection.environment.settings, LocalSpeech(inspection.workspace.models)
    llm = LiteLlm(LocalRuntime(inspection.workspace.models), models.catalog, settings.https_proxy)
    media = MediaModels(llm, models, speech, lambda kind: settings.media_models[kind])
    return [await _media(each, models, media, speech) for each in _MEDIA]


@dataclass(frozen=True, slots=True)
class _MediaCheck:
    """What models of a kind do, and how to get one on this machine."""

    name: str
    kind: MediaKind
    setting: str
    does: str
    missing: str
    local_fix: str


_MEDIA = (
    _MediaCheck(
        "voice",
        "audio_transcription",
        "TRANSCRIPTION_MODEL",
        "transcribes voice messages",
        "voice messages are not transcribed",
        f"{INSTALL}, and put a folder with a faster-whisper model into the workspace's models folder.",
    ),
    _MediaCheck(
        "speech",
        "audio_speech",
        "SPEECH_MODEL",
        "speaks answers after /voice on",
        "answers are not spoken",
        f"{INSTALL_VOICES}, and put the two files of a Piper voice into the workspace's models folder.",
    ),
    _MediaCheck(
        "pictures",
        "image_generation",
        "IMAGE_MODEL",
        "makes pictures",
        "no pictures are made",
        "Name a model of a provider.",
    ),
)


async def _media(check: _MediaCheck, models: Models, media: MediaModels, speech: LocalSpeech) -> Finding:
    chosen = await media.order(check.kind)
    if not chosen:
        return ok(check.name, f"{check.missing}: {check.setting} is off, or no provider with a key can")
    local = await asyncio.to_thread(speech.available, check.kind)
    for model in chosen:
        provider = provider_of(model)
        if "/" not in model:
            fix = "Write it as provider/model, such as openai/whisper-1."
            return fail(check.name, f"{check.setting}: {model} has no provider", fix)
        if provider == LOCAL_PROVIDER and model not in local:
            return fail(check.name, f"there is no {model} here", check.local_fix)
        if not models.has_key(provider):
            variable = models.config.profile(provider).variable
            return fail(check.name, f"{model} has no key", f"Set {variable}, or leave {check.setting} empty.")
    others = f"; then {', '.join(chosen[1:])}" if chosen[1:] else ""
    return ok(check.name, f"{chosen[0]} {check.does}{others}")


async def local(inspection: Inspection) -> list[Finding]:
    """The demo model, and other local models."""
    models = _models(inspection)
    needed = models is None or any(models.configured(tier, Preferences()).source == "local" for tier in TIERS)
    say = fail if needed else warn
    if not engine_installed():
        return [say("local model", "its engine is not installed", "pip install xllamacpp, or set a provider's key.")]
    names = available(inspection.workspace.models)
    if not names:
        fix = "Run `make chat` once, or put a .gguf file into the workspace's models folder, or set a provider's key."
        return [say("local model", "no model file found", fix)]
    return [ok("local model", f"{', '.join(f'local/{name}' for name in names)}")]


def _models(inspection: Inspection) -> Models | None:
    proxy = inspection.environment.settings.https_proxy
    stated = OllamaModels(web=lambda: client(proxy), seconds=inspection.network_seconds)
    try:
        return Models(inspection.workspace.config(), inspection.workspace.catalog(), stated)
    except ConfigError:
        return None


async def ask_models(inspection: Inspection, models: Models, names: Sequence[str]) -> dict[str, ModelError]:
    """Ask all models for one word, concurrently; returns the errors. While the bot is running, a local model is only
    looked up, because two copies would not fit into a small memory."""
    local = LocalRuntime(inspection.workspace.models)
    llm = LiteLlm(local, models.catalog, inspection.environment.settings.https_proxy)
    busy = inspection.workspace.in_use()

    async def ask(model: str) -> ModelError | None:
        if provider_of(model) == LOCAL_PROVIDER and busy:
            try:
                await asyncio.to_thread(find, model, inspection.workspace.models)
            except ModelError as error:
                return error
            return None
        return await probe(llm, models, model, ANSWER_NETWORKS * inspection.network_seconds)

    try:
        errors = await asyncio.gather(*(ask(model) for model in names))
    finally:
        await llm.close()
        await local.close()
    return {model: error for model, error in zip(names, errors, strict=True) if error is not None}


def _tier(tier: Tier, models: Models, failed: Mapping[str, ModelError]) -> list[Finding]:
    name, pool = f"tier {tier}", models.config.pools[tier]
    choice = models.configured(tier, Preferences())
    without = [model for model in choice.keyless if model == pool[0] or model not in DEFAULT_FALLBACKS[tier]]
    able = [model for model in (choice.model, *choice.fallbacks) if model not in failed]
    silent = [
        _no_answer(model, failed[model], models) for model in (choice.model, *choice.fallbacks) if model in failed
    ]
    then = f", then {', '.join(able[1:])}" if able[1:] else ""
    answer = f"{able[0]} answers{then}" if able else ""
    variables = _unique(models.config.profile(provider_of(model)).variable for model in choice.keyless)
    found: list[Finding] = []
    if silent:
        report = warn if able else fail
        found += [report(name, detail if not able else f"{detail}; {answer}", fix) for detail, fix in silent]
    elif choice.source == "local":
        fix = f"Set one of {', '.join(variables)}, or start Ollama."
        found.append(warn(name, f"{answer}: the demo model, because no provider has a key", fix))
    elif without:
        fix = f"Set {', '.join(variables)}, or remove their models from the pool."
        found.append(warn(name, f"{answer}; no key for {', '.join(without)}", fix))
    else:
        found.append(ok(name, answer))
    ignored = models.ignored_level(tier)
    if ignored is not None:
        takes = f"It takes: {', '.join(ignored.levels)}" if ignored.levels else "It is not known to support levels"
        fix = f"{takes}. Correct modelRouter.{tier}ModelReasoning, or add the level to models/models.json."
        found.append(warn(name, f"{ignored.model} has no reasoning level {ignored.level}; it is not sent", fix))
    strange = [
        model
        for model in pool
        if provider_of(model) not in (LOCAL_PROVIDER, OLLAMA) and not models.catalog.lookup(model).known
    ]
    if strange:
        fix = "Fix the name, or add the model to models/models.json so that its context window is known."
        found.append(warn(name, f"not in the catalogue: {', '.join(strange)}", fix))
    return found


def _no_answer(model: str, error: ModelError, models: Models) -> tuple[str, str]:
    """Why a model does not answer, and what to do."""
    provider, _, name = model.partition("/")
    match error:
        case KeyRejected():
            fix = f"Put a valid key into {models.config.profile(provider).variable}."
        case ModelUnknown() if provider == OLLAMA:
            fix = f"ollama pull {name}"
        case ModelUnknown() if provider == LOCAL_PROVIDER:
            fix = "Put the .gguf file into the workspace's models folder, or run `make model`."
        case ModelUnknown():
            fix = "Fix the model's name."
        case Unreachable() if provider == OLLAMA:
            fix = "Start it with `ollama serve`, or fix OLLAMA_HOST."
        case OutOfCredit():
            fix = f"Add credit to the account at {provider}, or choose another provider."
        case BadModelRequest() | PolicyRefused():
            fix = "Do what the provider says, or choose another model."
        case _:
            fix = "Try again later; check the internet connection, HTTPS_PROXY and the provider's base URL."
    return f"{model} does not answer: {error.raw or error.reason}", fix


def _configured_models(config: RouterConfig, *media: str) -> frozenset[str]:
    """All models of the tiers and of the settings for media."""
    tiers = (model for pool in config.pools.values() for model in pool)
    return frozenset((*tiers, *(model for setting in media for model in parse_pool(setting))))


async def _provider(inspection: Inspection, profile: ProviderProfile, wanted: frozenset[str]) -> Finding:
    name = f"provider {profile.name}"
    brief = replace(profile, timeout_seconds=inspection.network_seconds)
    try:
        async with client(inspection.environment.settings.https_proxy) as web:
            listed = await discover(brief, web)
    except DiscoveryError as error:
        return _listing_failed(name, profile, error)
    mine = sorted(model for model in wanted if provider_of(model) == profile.name)
    missing = [model for model in mine if not _is_listed(model, listed)]
    if missing:
        fix = f"Check the spelling; `tierbot models discover {profile.name}` lists its models."
        return warn(name, f"accepts the key, but does not list {', '.join(missing)}", fix)
    return ok(name, f"accepts the key and lists {len(listed)} models")


def _is_listed(model: str, listed: Iterable[DiscoveredModel]) -> bool:
    """Whether the provider lists the model, or a dated version: gpt-5.1-2025-11-13 is a gpt-5.1."""
    return any(other.id == model or other.id.startswith(f"{model}-") for other in listed)


def _listing_failed(name: str, profile: ProviderProfile, error: DiscoveryError) -> Finding:
    if error.status == 400:
        return warn(name, f"could not be checked: {error}", "Ignore this if its models answer; else fix it.")
    if error.upstream in _REFUSED:
        return fail(name, str(error), f"Put a valid key into {profile.variable}.")
    if error.upstream is None:
        return fail(name, str(error), "Check the internet connection, HTTPS_PROXY and the provider's base URL.")
    return warn(name, str(error), "Try again later; the next model of the pool answers meanwhile.")


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))

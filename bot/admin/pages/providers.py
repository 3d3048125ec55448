"""LLM providers: keys that test themselves, addresses and time limits. No key is ever sent to the browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from bot.admin.edits import File, Saved
from bot.admin.forms import read_number
from bot.admin.page_context import PageContext, signed_in
from bot.admin.pages.changes import env_change, propose
from bot.ops.web import client
from routing.catalog.discovery import PROVIDERS, address_of, discover, sendable
from routing.catalog.ollama import address as ollama_address
from routing.catalog.provider_models import DiscoveryError
from routing.config import jsonfile
from routing.config.runtime import API_TYPES, DEFAULT_TIMEOUT_SECONDS, address_variable, environment_address, variable
from routing.errors import ConfigError
from routing.redaction import hint
from routing.types.llm import NO_KEY, ProviderProfile
from routing.types.model_names import OLLAMA, provider_of
from routing.types.tiers import TIERS

TEST_SECONDS = 15.0
PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider as the page shows it. `key` is a hint, `place` where it is set; `tiers` use its models. `fixed`: the
    page can't change the key. `written`: runtime-config.json has the provider. `address` is the one in that file;
    `address_help` is a sentence about the one in the environment. Both are empty if there is none."""

    profile: ProviderProfile
    key: str
    place: str
    tiers: tuple[str, ...]
    fixed: bool
    written: bool
    address: str
    address_help: str
    custom_timeout: bool


async def providers(context: PageContext) -> Response:
    """All providers: those in use, those with a key, and well-known others."""
    edits = context.site.edits
    saved, env, config = await asyncio.to_thread(lambda: (edits.saved(), edits.read("env"), edits.read("config")))
    listed = [*_listed(context, saved, config.text)]
    return context.render(
        "providers.html",
        providers=[each for each in listed if each.key or each.written or each.tiers],
        others=[each for each in listed if not (each.key or each.written or each.tiers)],
        digests={"env": env.digest, "config": config.digest},
        api_types=API_TYPES,
        opened=context.query("open"),
    )


async def test(context: PageContext) -> Response:
    """Ask the provider for its models, with the key of the form or else the stored one."""
    name = _name(context)
    saved = await asyncio.to_thread(context.site.edits.saved)
    stored = saved.config.profile(name)
    key, typed = context.field("key"), context.field("baseUrl")
    address = typed or _environment_address(saved, name)
    if not key and stored.api_key and address != stored.base_url:
        return context.result(False, "The address is new: enter the key again to test it.")
    profile = replace(
        stored,
        api_key=key or stored.api_key or (NO_KEY if typed or stored.base_url else None),
        base_url=address,
        api_type=_api_type(context.field("apiType")) or _api_type(name),
        timeout_seconds=TEST_SECONDS,
    )
    context.site.services.workspace.conceal([key] if key else [])
    try:
        async with client(saved.environment.settings.https_proxy) as web:
            found = await discover(profile, web)
    except DiscoveryError as error:
        return context.result(False, str(error))
    return context.result(True, f"Works: {name} lists {len(found):,} models.")


async def change(context: PageContext) -> Response:
    """Propose a new key, address or time limit."""
    name = _name(context)
    saved = await asyncio.to_thread(context.site.edits.saved)
    profile = saved.config.profile(name)
    document = await asyncio.to_thread(context.site.edits.document, "config")
    texts: dict[File, str | None] = {}
    key, remove = context.field("key"), bool(context.field("remove"))
    try:
        if context.field("baseUrl"):
            address_of(replace(profile, base_url=context.field("baseUrl")), "")
        if key:
            sendable(key, profile.variable)
    except DiscoveryError as error:
        raise ConfigError("{reason} Nothing was changed.", reason=str(error)) from None
    in_file = profile.variable.startswith("llm.")
    values: dict[str, Any] = {
        "baseUrl": context.field("baseUrl") or None,
        "apiType": _api_type(context.field("apiType")),
        "requestTimeoutSeconds": _timeout(context),
    }
    if key or remove:
        context.site.services.workspace.conceal([key] if key else [])
        if in_file:
            values["apiKey"] = None if remove else key
        else:
            texts["env"] = await env_change(context, variable(name), None if remove else key)
    if _set(document, name, values):
        texts["config"] = jsonfile.render(document)
    what = "Remove the key of" if remove else "New key for" if key else "Change"
    return await propose(context, f"{what} {name}", texts, f"/providers?open={name}")


def _set(document: dict[str, Any], name: str, values: Mapping[str, Any]) -> bool:
    """Set these keys of `llm.providers.<name>`, or remove them (None), and what is empty then; whether that changes the
    document."""
    llm = document.get("llm") or {}
    profiles = llm.get("providers") or {}
    before = profiles.get(name) or {}
    after = {key: value for key, value in {**before, **values}.items() if value is not None or key not in values}
    if after == before or after == {key: value for key, value in before.items() if value is not None}:
        return False
    profiles = {**profiles, name: after} if after else {key: each for key, each in profiles.items() if key != name}
    document["llm"] = {**llm, "providers": profiles}
    return True


def _listed(context: PageContext, saved: Saved, config_text: str | None) -> Iterator[ListedProvider]:
    config = saved.config
    written = jsonfile.parse(config_text or "{}", "runtime-config.json").root().section("llm").section("providers")
    used: dict[str, list[str]] = {}
    for tier in TIERS:
        for provider in dict.fromkeys(map(provider_of, config.pools[tier])):
            used.setdefault(provider, []).append(tier)
    names = dict.fromkeys((*written.values, *used, *config.profiles, *PROVIDERS))
    given = context.site.services.environment.given
    for name in names:
        profile = config.profile(name)
        name_of_key = variable(name)
        place, fixed = "", False
        if profile.api_key:
            place = f"in .env as {name_of_key}"
            if profile.variable.startswith("llm."):
                place = "in runtime-config.json"
            elif name_of_key in given or f"{name_of_key}_FILE" in given:
                place, fixed = f"in the environment as {name_of_key}", True
        yield ListedProvider(
            profile=profile,
            key=hint(profile.api_key) if profile.api_key else "",
            place=place,
            tiers=tuple(used.get(name, ())),
            fixed=fixed,
            written=name in written.values,
            address=(profile.base_url or "") if written.section(name).values.get("baseUrl") else "",
            address_help=_address_help(saved, name, given),
            custom_timeout=profile.timeout_seconds != DEFAULT_TIMEOUT_SECONDS,
        )


def _name(context: PageContext) -> str:
    name = context.field("name").lower()
    if not PROVIDER_NAME.fullmatch(name):
        raise ConfigError("A provider's name has only letters, digits, - and _. Nothing was changed.")
    return name


def _environment_address(saved: Saved, name: str) -> str | None:
    environment = saved.environment
    return environment_address(name, ollama_address(environment.settings.ollama_host), environment.variables)


def _address_help(saved: Saved, name: str, given: Mapping[str, str]) -> str:
    """What an empty address means, if the environment has one; else empty."""
    if name == OLLAMA or not (setting := address_variable(name, saved.environment.variables)):
        return ""
    place = "the environment" if setting in given else ".env"
    try:
        return f"If empty: {_environment_address(saved, name)}, set in {place} as {setting}."
    except ConfigError as error:
        return str(error)


def _api_type(text: str) -> Any:
    return text if text in API_TYPES else None


def _timeout(context: PageContext) -> float | int | None:
    text = context.field("timeout")
    return read_number(text, "The time limit in seconds") if text else None


ROUTES = (
    Route("/providers", signed_in(providers)),
    Route("/providers", signed_in(change), methods=["POST"]),
    Route("/providers/test", signed_in(test), methods=["POST"]),
)

"""`tierbot setup --non-interactive`: the answers come from flags and the environment."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.shared.descriptor import secret
from bot.adapters.shared.doctor import PlatformSilent
from bot.ops.setup import checks
from bot.ops.setup.admin_port import taken
from bot.ops.setup.draft import Draft
from bot.ops.setup.flags import Flags
from bot.platforms import PLATFORMS
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import ConfigError, KeyRejected, OutOfCredit, RateLimited
from routing.types.model_names import OWN_MACHINE, provider_of

SHOWN_MODELS = 10
"""Models named when one has to be chosen."""


async def answered(draft: Draft, flags: Flags) -> tuple[Draft, list[str]]:
    """The draft with everything that the flags give, each checked against its service, and one line for each. Raises
    ConfigError for the first that is refused."""
    lines: list[str] = []
    for provider, base in flags.bases.items():
        draft = draft.put_provider(provider, base)
    if flags.model:
        draft = draft.put_pools(flags.model)
    if flags.owners:
        _check_owners(flags.owners)
        owners = dict.fromkeys((*map(str, draft.environment.settings.owners), *flags.owners))
        draft = draft.put({"BOT_OWNERS": ",".join(owners)})
    draft = await _with_tokens(draft, flags, lines)
    draft = await _with_keys(draft, flags, lines)
    if (provider := provider_of(flags.model)) and provider not in flags.keys:
        profile = draft.models.config.profile(provider)
        if not (provider in OWN_MACHINE or profile.api_key or profile.base_url):
            raise _no_key(provider)
        lines.append(await _check_provider(draft, provider, flags.model))
    for provider in flags.bases.keys() - flags.keys.keys() - {provider_of(flags.model)}:
        if checks.tier_model(draft, provider) is not None and draft.models.config.profile(provider).api_key:
            lines.append(await _check_provider(draft, provider, ""))
    if not (lines or flags.owners or flags.bases):
        raise ConfigError("There is nothing to save: give a token, --provider or --owner.")
    _ = draft.environment, draft.models  # raises for what the bot would refuse
    if (admin := taken(draft)) is not None:
        lines.append(
            f"Another program listens on port {admin[1]}, where the admin page would be: change ADMIN_ADDRESS."
        )
    return draft, lines


def _check_owners(owners: Sequence[str]) -> None:
    """Raises ConfigError for an account of a platform that doesn't exist, or that is no number."""
    known = [platform.name for platform in PLATFORMS]
    for owner in owners:
        platform, colon, account = owner.partition(":")
        if colon and platform.strip().lower() not in known:
            raise ConfigError(f"--owner {owner}: there is no platform {platform}. Use {' or '.join(known)}.")
        if colon and not account.isdecimal():
            raise ConfigError(f"--owner {owner}: an account is a number, such as {known[0]}:123.")


async def _with_tokens(draft: Draft, flags: Flags, lines: list[str]) -> Draft:
    for platform in PLATFORMS:
        token = flags.tokens.get(platform.name) or secret(getattr(draft.environment.settings, platform.enabled_by))
        if not token:
            continue
        try:
            account = await checks.identify(draft, platform, token)
        except PlatformSilent as error:
            raise ConfigError(f"{platform.title} can't be reached ({error}). Check the internet connection.") from None
        draft = draft.put_token(platform, token)
        lines.append(f"{platform.title}: the token belongs to {account.name}.")
        lines += [f"{platform.title}: {account.lacks}"] if account.lacks else []
    return draft


async def _with_keys(draft: Draft, flags: Flags, lines: list[str]) -> Draft:
    for provider, given in flags.keys.items():
        name = variable(provider)
        key = given or draft.environment.keys.get(name.removesuffix("_API_KEY").lower(), "")
        if not key:
            raise _no_key(provider)
        draft = draft.put_key(provider, key)
        if flags.model:  # `put_key` takes a local one for an earlier choice
            draft = draft.put_pools(flags.model)
        lines.append(await _check_provider(draft, provider, flags.model))
    return draft


def _no_key(provider: str) -> ConfigError:
    return ConfigError(f"No key for {provider}: write --provider {provider}=KEY, or set {variable(provider)}.")


async def _check_provider(draft: Draft, provider: str, wanted: str) -> str:
    model = wanted if provider_of(wanted) == provider else checks.tier_model(draft, provider)
    if model is None:
        try:
            found = await checks.offered(draft, provider)
        except DiscoveryError as error:
            raise ConfigError(str(error)) from None
        names = ", ".join(found[:SHOWN_MODELS]) + (" …" if len(found) > SHOWN_MODELS else "")
        raise ConfigError(f"No tier uses {provider} by default: name a model with --model. It offers {names}.")
    failed = await checks.probe_model(draft, model)
    if failed is None:
        return f"{provider}: {model} answers."
    if isinstance(failed, KeyRejected):
        raise ConfigError(checks.refused_key(provider))
    reason = (failed.raw or failed.reason).rstrip(".")
    if isinstance(failed, OutOfCredit | RateLimited):
        return f"{provider} accepts the key, but {model} does not answer now: {reason}."
    raise ConfigError(f"{model} does not answer: {reason}.")

"""`tierbot setup --non-interactive`: the answers come from flags and the environment."""

from __future__ import annotations

from bot.adapters.shared.doctor import PlatformSilent
from bot.ops.setup import checks
from bot.ops.setup.admin_port import taken
from bot.ops.setup.draft import POOLS_AND_OWNERS, Draft
from bot.ops.setup.flags import Flags
from bot.platforms import PLATFORMS
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import ConfigError
from routing.types.model_names import OWN_MACHINE, provider_of

SHOWN_MODELS = 10
"""Models named when one has to be chosen."""


async def answered(draft: Draft, flags: Flags) -> tuple[Draft, list[str]]:
    """The draft with everything that the flags give, each checked against its service, and one line for each. Raises
    ConfigError for the first that is refused."""
    draft, lines = draft.put_given(*POOLS_AND_OWNERS), list[str]()
    for provider, base in flags.bases.items():
        draft = draft.put_provider(provider, base)
    if flags.owners:
        draft = draft.add_owners(*flags.owners)
    draft = await _with_tokens(draft, flags, lines)
    for provider, given in flags.keys.items():
        key = given or draft.environment.variables.get(variable(provider), "")
        if not key:
            raise _no_key(provider)
        draft = draft.put_key(provider, key)
    if flags.model:
        draft = draft.put_pools(flags.model)
    for provider in filter(None, dict.fromkeys((*flags.keys, provider_of(flags.model), *flags.bases))):
        lines.append(await _check_provider(draft, provider, flags))
    draft, ollama = await checks.with_given_ollama(draft)
    checked = bool(lines)
    lines += [ollama.words] if ollama is not None else []
    if not (checked or draft.variables):
        raise ConfigError(" ".join((*lines, "There is nothing to save: give a token, --provider or --owner.")))
    _ = draft.environment, draft.models  # raises for what the bot would refuse
    if (admin := taken(draft)) is not None:
        lines.append(
            f"Another program listens on port {admin[1]}, where the admin page would be: change ADMIN_ADDRESS."
        )
    return draft, lines


async def _with_tokens(draft: Draft, flags: Flags, lines: list[str]) -> Draft:
    for platform in PLATFORMS:
        token = flags.tokens.get(platform.name) or platform.token(draft.environment.settings)
        if not token:
            continue
        try:
            account = await checks.identify(draft, platform, token)
        except PlatformSilent as error:
            raise ConfigError(f"{platform.title} can't be reached ({error}). Check the internet connection.") from None
        draft = draft.put_token(platform, token)
        lines.append(f"{platform.title}: the token belongs to {account.name}.")
        lines += [f"{platform.title}: {account.lacks}"] if account.lacks else []
        known = {owner.platform for owner in draft.environment.settings.owners}
        if account.owner is not None and platform.name not in known:
            draft = draft.add_owners(account.owner)
            lines.append(f"{platform.title}: the bot belongs to {account.owner_name}, who is an owner now.")
    return draft


def _no_key(provider: str) -> ConfigError:
    return ConfigError(f"No key for {provider}: write --provider {provider}=KEY, or set {variable(provider)}.")


async def _check_provider(draft: Draft, provider: str, flags: Flags) -> str:
    model = flags.model if provider_of(flags.model) == provider else ""
    profile = draft.models.config.profile(provider)
    if not (provider in OWN_MACHINE or profile.api_key or profile.base_url):
        raise _no_key(provider)
    if not flags.model and provider in flags.keys and checks.tier_model(draft, provider) is None:
        try:
            found = await checks.offered(draft, provider)
        except DiscoveryError as error:
            raise ConfigError(str(error)) from None
        names = ", ".join(found[:SHOWN_MODELS]) + (" …" if len(found) > SHOWN_MODELS else "")
        raise ConfigError(f"No tier uses {provider} by default: name a model with --model. It offers {names}.")
    checked = await checks.check_provider(draft, provider, model)
    if checked.verdict in ("refused", "fails"):
        raise ConfigError(checked.words)
    return checked.words

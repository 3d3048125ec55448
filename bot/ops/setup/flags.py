"""`tierbot setup --non-interactive`: the answers come from flags and the environment."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from bot.adapters.shared.descriptor import secret
from bot.adapters.shared.doctor import PlatformSilent
from bot.ops.setup import checks
from bot.ops.setup.draft import Draft
from bot.platforms import PLATFORMS
from routing.catalog.provider_models import DiscoveryError
from routing.config.runtime import variable
from routing.errors import ConfigError, KeyRejected, OutOfCredit, RateLimited
from routing.types.model_names import is_model_name, provider_of

SHOWN_MODELS = 10
"""Models named when one has to be chosen."""


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line gives. `tokens` by platform, `keys` and `bases` by provider; an empty key is in the
    environment."""

    interactive: bool
    tokens: dict[str, str]
    keys: dict[str, str]
    bases: dict[str, str]
    owners: Sequence[str]
    model: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every token and key."""
        return (*self.tokens.values(), *filter(None, self.keys.values()))

    @property
    def answers(self) -> bool:
        """Whether there are answers to questions of the dialogue."""
        return bool(self.tokens or self.keys or self.owners or self.model)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `setup`."""
    parser.add_argument("--non-interactive", action="store_true", help="ask nothing; exit 2 if a check fails")
    for platform in PLATFORMS:
        text = f"token of the {platform.title} bot (default: {platform.enabled_by.upper()})"
        parser.add_argument(f"--{platform.name}-token", metavar="TOKEN", help=text)
    text = "key of a provider, such as openai=sk-…; without =KEY it comes from the environment"
    parser.add_argument("--provider", action="append", default=[], metavar="NAME[=KEY]", help=text)
    text = "address of a provider, such as openai=http://127.0.0.1:8000/v1"
    parser.add_argument("--base", action="append", default=[], metavar="NAME=URL", help=text)
    text = "model for all tiers; needed if no tier has one of the provider by default"
    parser.add_argument("--model", default="", metavar="PROVIDER/MODEL", help=text)
    parser.add_argument("--owner", action="append", default=[], metavar="ACCOUNT", help="such as telegram:123")


def read_flags(options: argparse.Namespace) -> Flags:
    """Raises ConfigError for a flag of the wrong form, without its value."""
    tokens = {platform.name: getattr(options, f"{platform.name}_token") for platform in PLATFORMS}
    bases = dict(map(_pair, options.base))
    if not all(name and url for name, url in bases.items()):
        raise ConfigError("--base must look like openai=https://….")
    keys = dict(map(_pair, options.provider))
    if not all(is_model_name(f"{name}/x") for name in keys):
        raise ConfigError("--provider must look like openai=KEY.")
    return Flags(
        not options.non_interactive,
        {name: token.strip() for name, token in tokens.items() if token},
        keys,
        bases,
        options.owner,
        options.model,
    )


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip().lower(), value.strip()


async def answered(draft: Draft, flags: Flags) -> tuple[Draft, list[str]]:
    """The draft with everything that the flags give, each checked against its service, and one line for each. Raises
    ConfigError for the first that is refused."""
    lines = []
    for provider, base in flags.bases.items():
        draft = draft.put_provider(provider, base)
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
    if flags.model:
        draft = draft.put_pools(flags.model)
    for provider, given in flags.keys.items():
        key = given or draft.environment.keys.get(variable(provider).removesuffix("_API_KEY").lower(), "")
        if not key:
            raise ConfigError(f"No key for {provider}: write --provider {provider}=KEY, or set {variable(provider)}.")
        draft = draft.put_key(provider, key)
        if flags.model:  # `put_key` may have taken it for an earlier local model
            draft = draft.put_pools(flags.model)
        lines.append(await _check_provider(draft, provider, flags.model))
    if flags.owners:
        draft = draft.put({"BOT_OWNERS": ",".join(flags.owners)})
    _ = draft.environment, draft.models  # raises for what the bot would refuse
    return draft, lines


async def _check_provider(draft: Draft, provider: str, wanted: str) -> str:
    model = wanted if provider_of(wanted) == provider else checks.tier_model(draft, provider)
    if model is None:
        try:
            found = await checks.offered(draft, provider)
        except DiscoveryError as error:
            raise ConfigError(str(error)) from None
        names = ", ".join(found[:SHOWN_MODELS]) + (" …" if len(found) > SHOWN_MODELS else "")
        raise ConfigError(f"No tier uses {provider} by default: name a model with --model. It offers {names}.")
    error = await checks.one_word(draft, model)
    if error is None:
        return f"{provider}: {model} answers."
    if isinstance(error, KeyRejected):
        raise ConfigError(f"{provider} refuses the key: copy it whole, or make a new one.")
    reason = (error.raw or error.reason).rstrip(".")
    if isinstance(error, OutOfCredit | RateLimited):
        return f"{provider} accepts the key, but {model} does not answer now: {reason}."
    raise ConfigError(f"{model} does not answer: {reason}.")

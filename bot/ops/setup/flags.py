"""The flags of `tierbot setup`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from bot.platforms import PLATFORMS
from routing.errors import ConfigError
from routing.types.model_names import is_model_name


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
    if not all(is_model_name(f"{name}/x") and url for name, url in bases.items()):
        raise ConfigError("--base must look like openai=https://….")
    keys = dict(map(_pair, options.provider))
    if not all(is_model_name(f"{name}/x") for name in keys):
        raise ConfigError("--provider must look like openai=KEY.")
    if options.model and not is_model_name(options.model):
        raise ConfigError("--model must look like openai/gpt-5.1.")
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

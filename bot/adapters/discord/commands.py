"""Slash commands: their registration, converting them to typed text, and suggestions for options."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from bot.adapters.discord.client import Json
from handlers.context import CommandSpec
from handlers.languages import Say, languages
from handlers.parsing import quoted
from handlers.suggestions import Suggestions, Typing
from routing.text import shortened
from routing.types.messages import UserKey
from routing.types.tiers import TIERS

STATE_KEY = "discord_commands"
CHAT_INPUT = 1
SUBCOMMAND, STRING, BOOLEAN = 1, 3, 5
"""Types of options."""
EVERYWHERE = {"integration_types": [0, 1], "contexts": [0, 1, 2]}
"""Installed on servers or by users; usable on servers, in direct messages with the bot, and in other chats."""
MAX_CHOICES = 25
MAX_TEXT_CHARACTERS = 100
"""Characters of a description or of a suggested value."""
LOOKS = (0.0, 0.1, 0.3, 0.6)
"""Seconds before each attempt at suggestions, repeated only while they are being loaded. Discord waits for three."""
_ENGLISH = "en"
_LOCALES = {"es": "es-ES", "pt": "pt-BR", "sv": "sv-SE", "zh": "zh-CN"}
"""Discord's locales that differ from the language code."""
_TYPED: Mapping[str, Mapping[str, str]] = {
    "tier": {"": "{tier} {force}"},
    "model": {
        "show": "",
        "list": "list {provider}",
        "set": "{tier} {model}",
        "reasoning": "{tier} reasoning {level}",
        "reset": "{tier} reset",
    },
}
"""Templates for the text after a command, by subcommand. Other commands have a single option, named like the command,
with the whole text."""


class _Described:
    """Builds descriptions in all languages."""

    def __init__(self) -> None:
        self._others = tuple(Say(code) for code in languages() if code != _ENGLISH)

    def say(self, template: str) -> Json:
        """A description with its translations, cut to Discord's limit."""
        translated = {say.language: say(template) for say in self._others}
        others = {code: text for code, text in translated.items() if text != template}
        found = {_LOCALES.get(code, code): shortened(text, MAX_TEXT_CHARACTERS) for code, text in others.items()}
        return {
            "description": shortened(template, MAX_TEXT_CHARACTERS),
            **({"description_localizations": found} if found else {}),
        }


def tree(specs: Sequence[CommandSpec]) -> list[Json]:
    """The body of the call that registers all commands."""
    words = _Described()
    return [
        {
            "type": CHAT_INPUT,
            "name": spec.name,
            **words.say(spec.summary),
            **EVERYWHERE,
            "options": _options(spec, words),
        }
        for spec in specs
    ]


def _options(spec: CommandSpec, words: _Described) -> list[Json]:
    match spec.name:
        case "tier":
            return _tier(spec, words)
        case "model":
            return _model(words)
    return [_argument(spec)] if takes_argument(spec) else []


def takes_argument(spec: CommandSpec) -> bool:
    """Whether the command takes any text."""
    return any(len(line.split()) > 1 for line in spec.usage)


def _tier(spec: CommandSpec, words: _Described) -> list[Json]:
    tier = {"type": STRING, "name": "tier", **words.say("Which class of model answers"), **_choices(spec.choices[0])}
    force = {"type": BOOLEAN, "name": "force", **words.say("Lock it, so that no skill and no model changes it")}
    return [tier, force]


def _model(words: _Described) -> list[Json]:
    chosen = {"type": STRING, "name": "tier", **words.say("The tier"), **_choices(TIERS), "required": True}
    provider = {"type": STRING, "name": "provider", **words.say("Only the models of this provider")}
    model = {"type": STRING, "name": "model", **words.say("The model as provider/model")}
    level = {"type": STRING, "name": "level", **words.say("The reasoning level"), "required": True}
    completed = {"autocomplete": True}
    return [
        _subcommand("show", words.say("Show the model of each tier")),
        _subcommand("list", words.say("List the models you can choose"), provider | completed),
        _subcommand("set", words.say("Choose your own model for a tier"), chosen, model | completed),
        _subcommand("reasoning", words.say("Choose how much a tier reasons"), chosen, level | completed),
        _subcommand("reset", words.say("Go back to the configured model of a tier"), chosen),
    ]


def _subcommand(name: str, description: Json, *options: Json) -> Json:
    return {"type": SUBCOMMAND, "name": name, **description, "options": list(options)}


def _argument(spec: CommandSpec) -> Json:
    """An option for all text after the command. Its description consists of examples, which need no translation."""
    examples = [" ".join(line.split()[1:]) for line in spec.usage]
    option = {
        "type": STRING,
        "name": spec.name,
        "description": shortened(" · ".join(filter(None, examples)), MAX_TEXT_CHARACTERS),
    }
    return option | (_choices(spec.choices[0]) if _fixed(spec) else {"autocomplete": True})


def _fixed(spec: CommandSpec) -> bool:
    """Whether the command takes one of a few words. A choice that contains a digit stands for any number."""
    if spec.most_words != 1 or len(spec.choices) != 1:
        return False
    return len(spec.choices[0]) <= MAX_CHOICES and all(word.isalpha() for word in spec.choices[0])


def _choices(words: Sequence[str]) -> Json:
    return {"choices": [{"name": word, "value": word} for word in words]}


def options_of(data: Json) -> tuple[str, list[Json]]:
    """The subcommand (or "") and the options in an interaction's `data`."""
    options: list[Json] = data.get("options") or []
    if options and options[0]["type"] == SUBCOMMAND:
        return options[0]["name"], options[0].get("options") or []
    return "", options


def as_typed(data: Json) -> str:
    """The command as typed elsewhere, such as `/model coding openai/gpt-5.2`.

    A single option is used as written and may have several words. Other options are one word each, quoted if necessary.
    """
    name = data["name"]
    subcommand, options = options_of(data)
    values = {option["name"]: option.get("value", "") for option in options}
    pattern = _TYPED.get(name, {}).get(subcommand)
    rest = str(values.get(name, "")) if pattern is None else pattern.format_map(_Words(values))
    return f"/{name} {rest.strip()}".rstrip()


class _Words(dict[str, Any]):
    """Option values as words of a command: an enabled switch becomes its name, a missing option is empty."""

    def __getitem__(self, name: str) -> str:
        value = self.get(name, "")
        if isinstance(value, bool):
            return name if value else ""
        return quoted(str(value)) if value != "" else ""


async def suggest(data: Json, user: UserKey, suggestions: Suggestions) -> list[str]:
    """Values for the option being typed; longer ones, which Discord refuses, are left out."""
    typing = focused(data)
    if typing is None:
        return []
    for seconds in LOOKS:
        await asyncio.sleep(seconds)
        if (words := await suggestions.offer(user, typing)) is not None:
            return [word for word in words if 0 < len(word) <= MAX_TEXT_CHARACTERS]
    return []


def focused(data: Json) -> Typing | None:
    """The option being typed, with the values of the others; None if there is none."""
    _, options = options_of(data)
    typed = next((option for option in options if option.get("focused")), None)
    if typed is None:
        return None
    given = {option["name"]: str(option.get("value", "")) for option in options if option is not typed}
    return Typing(data["name"], typed["name"], str(typed.get("value", "")), given)

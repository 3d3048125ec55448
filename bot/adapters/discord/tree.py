"""The commands as Discord registers them, and what was filled in there as the command would be typed elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handlers.asking import CommandSpec
from handlers.languages import Say, languages
from handlers.parsing import quoted
from routing.types import TIERS

Json = dict[str, Any]

CHAT_INPUT = 1
SUBCOMMAND, STRING, BOOLEAN = 1, 3, 5
"""Types of options."""
EVERYWHERE = {"integration_types": [0, 1], "contexts": [0, 1, 2]}
"""For servers and for single users; in servers, in the bot's direct messages, among people elsewhere."""
MOST_CHOICES = 25
MOST_TEXT = 100
"""Characters of a description."""
_ENGLISH = "en"
_LOCALES = {"es": "es-ES", "pt": "pt-BR", "sv": "sv-SE", "zh": "zh-CN"}
"""Where Discord's code is not the language's own."""
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
"""The words behind a command, by subcommand; the others have theirs in one option of the same name."""


class _Described:
    """Descriptions in every language."""

    def __init__(self) -> None:
        self._others = tuple(Say(code) for code in languages() if code != _ENGLISH)

    def say(self, template: str) -> Json:
        """A description with its translations, cut to what Discord takes."""
        translated = {say.language: say(template) for say in self._others}
        found = {_LOCALES.get(code, code): _cut(text) for code, text in translated.items() if text != template}
        return {"description": _cut(template), **({"description_localizations": found} if found else {})}


def tree(specs: Sequence[CommandSpec]) -> list[Json]:
    """The body of the call that registers them all."""
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
    """Whether anything may be written behind the command."""
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
    """All words behind the command in one option, described by examples: they read the same in every language."""
    examples = [" ".join(line.split()[1:]) for line in spec.usage]
    option = {"type": STRING, "name": spec.name, "description": _cut(" · ".join(filter(None, examples)))}
    return option | (_choices(spec.choices[0]) if _fixed(spec) else {"autocomplete": True})


def _fixed(spec: CommandSpec) -> bool:
    """Whether one of a few words is all that the command takes. A word with a digit is an example of a number."""
    if spec.most_words != 1 or len(spec.choices) != 1:
        return False
    return len(spec.choices[0]) <= MOST_CHOICES and all(word.isalpha() for word in spec.choices[0])


def _choices(words: Sequence[str]) -> Json:
    return {"choices": [{"name": word, "value": word} for word in words]}


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def filled(data: Json) -> tuple[str, dict[str, Any]]:
    """The subcommand, empty without one, and the values of the options by name."""
    options: list[Json] = data.get("options") or []
    if options and options[0]["type"] == SUBCOMMAND:
        return options[0]["name"], _values(options[0].get("options") or [])
    return "", _values(options)


def _values(options: list[Json]) -> dict[str, Any]:
    return {option["name"]: option.get("value", "") for option in options}


def typed(data: Json) -> str:
    """`/model coding openai/gpt-5.2` of the `data` of an interaction. A command's only option is taken as it is
    written, with several words; of others each is one word, quoted at need."""
    name = data["name"]
    subcommand, values = filled(data)
    pattern = _TYPED.get(name, {}).get(subcommand)
    rest = str(values.get(name, "")) if pattern is None else pattern.format_map(_Words(values))
    return f"/{name} {rest.strip()}".rstrip()


class _Words(dict[str, Any]):
    """Values as words of a command: a switch that is on is its own name, what was left out is nothing."""

    def __getitem__(self, name: str) -> str:
        value = self.get(name, "")
        if isinstance(value, bool):
            return name if value else ""
        return quoted(str(value)) if value != "" else ""

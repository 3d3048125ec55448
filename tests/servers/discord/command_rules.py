"""The documented limits of application commands that the schema lacks. Breaking one raises `Breach`."""

import unicodedata
from typing import Any

from tests.servers.discord.errors import invalid
from tests.servers.discord.values import Json

CHAT_INPUT = 1
MAX_COMMANDS, MAX_MENUS = 100, 15
"""Slash commands, and context menus of each kind, in a scope (documentation, "Registering a Command")."""
MAX_SIZE = 8000
"""Characters of all names, descriptions and values of a command together."""
SUBCOMMAND, GROUP = 1, 2
"""Types of options."""
_LOCALES = frozenset(
    (
        *("id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl"),
        *("pt-BR", "ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja"),
        *("zh-TW", "ko"),
    )
)


def check_commands(commands: list[Json]) -> None:
    """Checks the commands of a scope after a call."""
    for kind, most in ((CHAT_INPUT, MAX_COMMANDS), (2, MAX_MENUS), (3, MAX_MENUS)):
        names = [command["name"] for command in commands if kind_of(command) == kind]
        if len(names) > most:
            reason = f"Maximum number of application commands reached ({most})."
            raise invalid("", "APPLICATION_COMMANDS_MAX", reason)
        for number, name in enumerate(names):
            if name in names[:number]:
                raise invalid(f"{number}.name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Names must be unique")
    for command in commands:
        _check_command(command)


def kind_of(command: Json) -> int:
    return int(command.get("type") or CHAT_INPUT)


def _check_command(command: Json) -> None:
    description = command.get("description") or ""
    if kind_of(command) != CHAT_INPUT:
        if description or command.get("options"):
            raise invalid("description", "APPLICATION_COMMAND_MENU", "a context menu has a name only")
        return
    _check_name(command, "name")
    if not description:
        raise invalid("description", "BASE_TYPE_REQUIRED", "This field is required")
    _check_options(command.get("options") or [], "options")
    if (size := _size(command)) > MAX_SIZE:
        reason = f"Command exceeds maximum size ({size} of {MAX_SIZE})"
        raise invalid("", "APPLICATION_COMMAND_TOO_LARGE", reason)


def _check_name(named: Json, path: str) -> None:
    for name in (named["name"], *(named.get("name_localizations") or {}).values()):
        if not all(_is_allowed(character) for character in name) or name != name.lower():
            raise invalid(path, "APPLICATION_COMMAND_INVALID_NAME", f"Command name is invalid: {name!r}")
    for key in ("name_localizations", "description_localizations"):
        if unknown := (named.get(key) or {}).keys() - _LOCALES:
            raise invalid(f"{path}.{key}", "BASE_TYPE_CHOICES", f"no such locales: {', '.join(sorted(unknown))}")


def _is_allowed(character: str) -> bool:
    """Letters, digits, - _ ' and everything of the Devanagari and Thai scripts."""
    script = unicodedata.name(character, "").split(" ")[0]
    return character in "-_'" or unicodedata.category(character)[0] in "LN" or script in ("DEVANAGARI", "THAI")


def _check_options(options: list[Json], path: str) -> None:
    names = [option["name"] for option in options]
    nested = [option["type"] in (SUBCOMMAND, GROUP) for option in options]
    if any(nested) and not all(nested):
        raise invalid(path, "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "subcommands and other options do not mix")
    optional_seen = False
    for number, option in enumerate(options):
        where = f"{path}.{number}"
        _check_name(option, f"{where}.name")
        if option["name"] in names[:number]:
            raise invalid(f"{where}.name", "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option names must be unique")
        if option.get("required") and optional_seen:
            reason = "Required options must be placed before non-required options"
            raise invalid(where, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", reason)
        optional_seen = optional_seen or not option.get("required")
        if option.get("choices") and option.get("autocomplete"):
            reason = "autocomplete can't be used with choices"
            raise invalid(where, "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE", reason)
        _check_choices(option, where)
        _check_options(option.get("options") or [], f"{where}.options")


def _check_choices(option: Json, path: str) -> None:
    names = [choice["name"] for choice in option.get("choices") or []]
    if len(set(names)) < len(names):
        reason = "Option choice names must be unique"
        raise invalid(f"{path}.choices", "APPLICATION_COMMAND_OPTIONS_CHOICE_NAMES", reason)


def _size(value: Any) -> int:
    """Each localised text counts once, with its longest form."""
    if isinstance(value, list):
        return sum(_size(item) for item in value)
    total = 0
    for key in ("name", "description"):
        forms = [value.get(key) or "", *(value.get(f"{key}_localizations") or {}).values()]
        total += max(len(form) for form in forms)
    total += len(str(value["value"])) if "value" in value else 0
    return total + _size(value.get("options") or []) + _size(value.get("choices") or [])

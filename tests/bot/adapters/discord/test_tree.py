"""Every command in Discord's format, and back to the typed line."""

from __future__ import annotations

from typing import Any

import pytest

from bot.adapters.discord.commands import (
    BOOLEAN,
    MAX_CHOICES,
    STRING,
    SUBCOMMAND,
    as_typed,
    options_of,
    takes_argument,
    tree,
)
from handlers.commands import COMMANDS
from handlers.context import CommandSpec
from handlers.languages import Say
from handlers.parsing import parse_command
from routing.types.tiers import TIERS
from tests.bot.adapters.discord.interactions import command_client

TREE = {command["name"]: command for command in tree(COMMANDS)}
OWN = ("tier", "model")


def option(command: str, name: str) -> dict[str, Any]:
    """An option of a command, or of its subcommands."""
    found = TREE[command]["options"]
    nested = [inner for each in found for inner in each.get("options", [])]
    return next(each for each in (*found, *nested) if each["name"] == name)


def words(described: dict[str, Any]) -> list[str]:
    return [choice["value"] for choice in described.get("choices", [])]


async def test_discord_accepts_the_commands() -> None:
    async with command_client() as (dc, _):
        assert [command["name"] for command in dc.commands] == [spec.name for spec in COMMANDS]
        assert dc.refusals == []


@pytest.mark.parametrize("spec", COMMANDS, ids=lambda spec: spec.name)
def test_commands_are_available_to_everyone_everywhere(spec: CommandSpec) -> None:
    command = TREE[spec.name]
    assert command["description"] == spec.summary
    assert (command["integration_types"], command["contexts"]) == ([0, 1], [0, 1, 2])
    assert "default_member_permissions" not in command
    assert command["description_localizations"] == {"de": Say("de")(spec.summary)}


@pytest.mark.parametrize("spec", [spec for spec in COMMANDS if spec.name not in OWN], ids=lambda spec: spec.name)
def test_free_text_is_one_option(spec: CommandSpec) -> None:
    options = TREE[spec.name]["options"]
    assert bool(options) == takes_argument(spec)
    assert all((each["name"], each["type"]) == (spec.name, STRING) and "required" not in each for each in options)
    assert all(bool(words(each)) != each.get("autocomplete", False) for each in options)


def test_closed_value_lists_are_choices() -> None:
    assert {name for name in TREE if name not in OWN and any(words(each) for each in TREE[name]["options"])} == {
        "rate",
        "status",
        "voice",
    }
    assert words(option("status", "status")) == ["full"]
    assert words(option("rate", "rate")) == ["up", "down", "none"]


def made(**differences: Any) -> dict[str, Any]:
    spec = CommandSpec("x", "X", ("/x", "/x a"), choices=(("a", "b"),))
    spec = CommandSpec(**{name: getattr(spec, name) for name in spec.__slots__} | differences)
    (found,) = tree([spec])[0]["options"]
    return dict(found)


def test_usage_words_that_become_choices() -> None:
    assert words(made()) == ["a", "b"]
    many = tuple("abcdefghijklmnopqrstuvwxyz")
    assert words(made(choices=(many[:MAX_CHOICES],)))
    assert not words(made(choices=(many,)))
    assert made(free_text=True)["autocomplete"]
    assert made(usage=("/x", "/x a b"))["autocomplete"]
    assert made(choices=(("7d", "30d"),))["autocomplete"]
    assert made(choices=())["autocomplete"]


def test_option_descriptions_have_examples() -> None:
    assert option("history", "history")["description"] == "resume 2 · export · export 2"
    assert len(option("access", "access")["description"]) == 100


def test_options_of_tier_and_model() -> None:
    assert words(option("tier", "tier")) == ["auto", *TIERS, "default"]
    assert option("tier", "force")["type"] == BOOLEAN
    assert not any(each.get("required") for each in TREE["tier"]["options"])
    parts = {each["name"]: [inner["name"] for inner in each["options"]] for each in TREE["model"]["options"]}
    assert parts == {
        "show": [],
        "list": ["provider"],
        "set": ["tier", "model"],
        "reasoning": ["tier", "level"],
        "reset": ["tier"],
    }
    for each in TREE["model"]["options"]:
        for inner in each["options"]:
            assert bool(inner.get("required")) == (inner["name"] not in ("provider", "model"))
            assert words(inner) == (list(TIERS) if inner["name"] == "tier" else [])
            assert inner.get("autocomplete", False) == (inner["name"] != "tier")


def given(command: str, subcommand: str = "", **values: Any) -> dict[str, Any]:
    """The `data` of an interaction."""
    options = [{"name": name, "type": STRING, "value": value} for name, value in values.items()]
    return {
        "name": command,
        "options": [{"name": subcommand, "type": 1, "options": options}] if subcommand else options,
    }


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"name": "whoami"}, "/whoami"),
        (given("tier"), "/tier"),
        (given("tier", tier="smart"), "/tier smart"),
        (given("tier", tier="smart", force=True), "/tier smart force"),
        (given("tier", force=False, tier="deep"), "/tier deep"),
        (given("tier", force=True), "/tier force"),
        (given("model", "show"), "/model"),
        (given("model", "list"), "/model list"),
        (given("model", "list", provider="openai"), "/model list openai"),
        (given("model", "set", model="openai/gpt-5.2", tier="coding"), "/model coding openai/gpt-5.2"),
        (given("model", "set", tier="coding", model="ollama/qwen3:32b"), "/model coding ollama/qwen3:32b"),
        (given("model", "set", tier="coding"), "/model coding"),
        (given("model", "reasoning", tier="deep", level="high"), "/model deep reasoning high"),
        (given("model", "reset", tier="deep"), "/model deep reset"),
        (given("settings", settings="instructions Answer  'briefly'."), "/settings instructions Answer  'briefly'."),
        (given("tools", tools=" will it rain? "), "/tools will it rain?"),
        (given("retry", retry=": once more"), "/retry : once more"),
    ],
)
def test_interactions_become_typed_lines(data: dict[str, Any], text: str) -> None:
    assert as_typed(data) == text


def test_one_value_is_one_word() -> None:
    text = as_typed(given("model", "set", tier="coding", model="my 'odd' model; reset"))
    command = parse_command(text, "tierbot")
    assert command is not None
    assert command.arguments == ("coding", "my 'odd' model; reset")


@pytest.mark.parametrize("line", [line for spec in COMMANDS if spec.name not in OWN for line in spec.usage])
def test_every_typed_form_has_an_option(line: str) -> None:
    name, _, rest = line[1:].partition(" ")
    assert bool(rest) <= bool(TREE[name]["options"])
    assert as_typed(given(name, **({name: rest} if rest else {}))) == line


def test_options_of_a_command_and_of_a_subcommand() -> None:
    option = {"name": "a", "type": STRING, "value": 1}
    assert options_of({"name": "x"}) == ("", [])
    assert options_of({"name": "x", "options": [option]}) == ("", [option])
    assert options_of({"name": "x", "options": [{"name": "y", "type": SUBCOMMAND, "options": [option]}]}) == (
        "y",
        [option],
    )

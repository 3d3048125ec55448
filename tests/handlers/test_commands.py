"""Every command is in the tuple, can be called, fits the menus and is documented."""

import inspect
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from handlers import commands
from handlers.commands import COMMANDS, build_commands
from handlers.context import CommandSpec
from handlers.dependencies import CommandDependencies
from handlers.parsing import parse_command
from tests.pages import first_cells


def modules() -> list[str]:
    return [module.name for module in iter_modules(commands.__path__)]


def missing_from(names: list[str]) -> list[str]:
    """Modules of the folder whose SPEC is not in the tuple."""
    return [name for name in names if import_module(f"{commands.__name__}.{name}").SPEC not in COMMANDS]


def test_every_command_module_is_listed() -> None:
    assert missing_from(modules()) == []
    assert len(COMMANDS) == len(modules())


def test_an_unlisted_command_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = COMMANDS[0].name
    monkeypatch.setattr(f"{__name__}.COMMANDS", COMMANDS[1:])
    assert missing_from(modules()) == [left_out]


class Anything:
    """Stands in for every dependency; building a command only reads attributes."""

    def __getattr__(self, _name: str) -> "Anything":
        return self


def test_every_spec_has_its_own_handler() -> None:
    anything: dict[str, Any] = dict.fromkeys(inspect.signature(CommandDependencies).parameters, Anything())
    dependencies = CommandDependencies(**anything)
    table = build_commands(dependencies)
    assert list(table) == [spec.name for spec in COMMANDS]
    assert all(table[spec.name][0] is spec and callable(table[spec.name][1]) for spec in COMMANDS)
    assert len({id(handler) for _, handler in table.values()}) == len(table)


@pytest.mark.parametrize("spec", COMMANDS, ids=lambda spec: spec.name)
def test_commands_fit_the_menus_and_their_usage(spec: CommandSpec) -> None:
    assert re.fullmatch(r"[a-z0-9_]{1,32}", spec.name)
    assert 0 < len(spec.summary) <= 256
    assert not spec.summary.endswith(".")
    assert spec.usage
    for line in spec.usage:
        typed = parse_command(line, "tierbot")
        assert typed is not None
        assert typed.name == spec.name, line
    assert all(words and len(set(words)) == len(words) for words in spec.choices)


def test_command_names_are_unique_and_within_telegrams_limit() -> None:
    names = [spec.name for spec in COMMANDS]
    assert len(set(names)) == len(names) <= 100


def test_exactly_the_existing_commands_are_documented() -> None:
    existing = sorted(f"/{spec.name}" for spec in COMMANDS)
    assert sorted(first_cells("docs/commands.md", r"/\w+")) == existing
    assert {*first_cells("README.md", r"/\w+")} <= {*existing}

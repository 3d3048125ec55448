"""The slash commands, one module each. Menus, completion and /help follow this order."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from handlers.commands import (
    access,
    admin,
    budget,
    compact,
    connect,
    council,
    files,
    help,
    history,
    memory,
    model,
    new,
    rate,
    remind,
    retry,
    schedule,
    settings,
    skill,
    skills,
    start,
    status,
    stop,
    tier,
    tools,
    usage,
    voice,
    whoami,
)
from handlers.context import CommandSpec, Handler
from handlers.dependencies import CommandDependencies


class CommandModule(Protocol):
    """The interface of every module in this folder."""

    SPEC: CommandSpec

    def build(self, dependencies: CommandDependencies, /) -> Handler: ...


_MODULES: tuple[CommandModule, ...] = (
    tier,
    rate,
    model,
    status,
    new,
    retry,
    stop,
    council,
    skills,
    skill,
    tools,
    files,
    compact,
    history,
    memory,
    remind,
    schedule,
    usage,
    budget,
    settings,
    voice,
    connect,
    whoami,
    access,
    admin,
    help,
    start,
)
COMMANDS: tuple[CommandSpec, ...] = tuple(module.SPEC for module in _MODULES)


def build_commands(dependencies: CommandDependencies) -> dict[str, tuple[CommandSpec, Handler]]:
    """Builds the handlers of all commands, by name."""
    dependencies = replace(dependencies, specs=COMMANDS)
    return {module.SPEC.name: (module.SPEC, module.build(dependencies)) for module in _MODULES}

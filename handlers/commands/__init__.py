"""One file a command. `COMMANDS` is what menus, completion, /help and the README show, in this order."""

from __future__ import annotations

from handlers.asking import CommandSpec
from handlers.commands import (
    access,
    help,
    history,
    model,
    new,
    retry,
    settings,
    start,
    status,
    stop,
    tier,
    usage,
    whoami,
)

COMMANDS: tuple[CommandSpec, ...] = (
    tier.SPEC,
    model.SPEC,
    status.SPEC,
    new.SPEC,
    retry.SPEC,
    stop.SPEC,
    history.SPEC,
    usage.SPEC,
    settings.SPEC,
    whoami.SPEC,
    access.SPEC,
    help.SPEC,
    start.SPEC,
)

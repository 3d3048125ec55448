"""Hands over to `tierbot service install`."""

from __future__ import annotations

import os
import shlex
from importlib.util import find_spec
from pathlib import Path

from bot.config.environment import Environment
from bot.ops.service.command import chosen
from bot.ops.service.install import install as perform
from bot.ops.service.install import plan
from bot.ops.service.unit import this_program, workspace_of
from handlers.languages import Say

SYSTEMD = Path("/run/systemd/system")
"""Exists where systemd runs the machine."""


def available(systemd: Path = SYSTEMD) -> bool:
    """Whether a service can be installed on this machine."""
    return systemd.is_dir() and find_spec("bot.ops.service") is not None


def elsewhere(environment: Environment, say: Say) -> str:
    """What to tell if an installed service has another workspace, which these changes don't reach; else empty."""
    found = chosen(environment, user=False)
    theirs, here = workspace_of(found.text()), environment.settings.workspace.absolute()
    if theirs is None or theirs == here:
        return ""
    words = "The service has its settings in {folder}; this changes those in {here}. For the service: {command}"
    command = f"{found.sudo}env WORKSPACE={shlex.quote(str(theirs))} {this_program().name} setup"
    return say(words, folder=theirs, here=here, command=command)


def install(environment: Environment) -> int:
    """Install and start the service, for the whole machine as root and else for this user; returns the exit code. It
    says what it does. Raises ConfigError with what to do."""
    found = chosen(environment, user=os.geteuid() != 0, new=True)
    return perform(plan(found, this_program(), environment), environment)

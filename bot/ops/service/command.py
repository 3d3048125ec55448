"""`tierbot service`: chooses between the system's service and the user's own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.config.environment import Environment
from bot.ops.service.install import install, plan, uninstall
from bot.ops.service.status import show_log, status
from bot.ops.service.systemctl import Service, user_service
from bot.ops.service.unit import this_program


def service(options: argparse.Namespace, environment: Environment) -> int:
    """Run one action; returns the exit code. Raises ConfigError with what to do."""
    program = this_program()
    found = chosen(environment, options.user, options.service == "install")
    match options.service:
        case "install":
            workspace = options.workspace.expanduser().absolute() if options.workspace else None
            installation = plan(found, program, environment, workspace)
            if options.dry_run:
                sys.stdout.write(installation.unit)
                return 0
            return install(installation, environment)
        case "uninstall":
            return uninstall(found, program)
        case "status":
            return status(found, program)
        case _:
            return show_log(found, program, options.follow, options.lines, options.since)


def chosen(environment: Environment, user: bool, new: bool = False) -> Service:
    """The system's service unless `user`, or, if it is not to be installed, only the user's exists."""
    own = user_service(Path.home(), environment.given.get("XDG_CONFIG_HOME", ""))
    system = Service()
    return own if user or (not new and own.unit.is_file() and not system.unit.is_file()) else system

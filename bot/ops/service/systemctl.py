"""The unit on this machine: its file, and what systemd says about it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.ops import processes
from bot.ops.service.unit import NAME, SERVICE, STATE, Program
from routing.errors import ConfigError

LOG_LINES = 5
"""Lines of the log that are shown with a problem."""
SECONDS = 180.0
"""More than the unit's TimeoutStartSec and TimeoutStopSec."""


@dataclass(frozen=True, slots=True)
class Service:
    """The system's service, or a user's own. The folders differ in tests."""

    user: bool = False
    unit: Path = Path("/etc/systemd/system") / SERVICE
    state: Path = STATE / NAME
    credentials: Path = Path("/etc") / NAME

    @property
    def kind(self) -> str:
        return "user service" if self.user else "system service"

    @property
    def option(self) -> str:
        """The option that systemd's programs need for it, with a blank behind it."""
        return "--user " if self.user else ""

    @property
    def sudo(self) -> str:
        """What goes before a command that changes it, with a blank behind it."""
        return "" if self.user else "sudo "

    def needs_root(self) -> bool:
        """Whether this user may not change it."""
        return not self.user and bool(os.geteuid())

    def install_command(self, program: Program) -> str:
        """What a person types to install or renew it."""
        return f"{self.sudo}{program.name} service install{' --user' * self.user}"

    def text(self) -> str:
        """The installed unit; empty if there is none."""
        try:
            return self.unit.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def names_of_credentials(self) -> tuple[str, ...]:
        """Files in the folder of credentials that are named like a variable. Only root can list them."""
        if self.user or not self.credentials.is_dir() or not os.access(self.credentials, os.R_OK | os.X_OK):
            return ()
        files = (path.name for path in self.credentials.iterdir() if path.is_file())
        return tuple(sorted(name for name in files if name.isidentifier()))

    def systemctl(self, *arguments: str) -> str:
        """Run systemctl; returns its output. Raises ConfigError with its words."""
        return run("systemctl", *(("--user",) if self.user else ()), *arguments)

    def show(self) -> Mapping[str, str]:
        """All properties of the unit, by name. Raises ConfigError without systemd."""
        lines = (line.partition("=") for line in self.systemctl("show", SERVICE).splitlines())
        return {name: value for name, _, value in lines}

    def journal(self, *arguments: str) -> tuple[str, ...]:
        """The command that prints the service's log."""
        return ("journalctl", "--user-unit" if self.user else "--unit", NAME, *arguments)

    def log_end(self) -> str:
        """The end of the log, indented; empty if it can't be read."""
        try:
            log = run(*self.journal("--lines", str(LOG_LINES), "--output", "cat", "--no-pager", "--quiet"))
        except ConfigError:
            return ""
        return "".join(f"  {line}\n" for line in log.splitlines())


def user_service(home: Path, config: str = "") -> Service:
    """The service of a user. `config`: XDG_CONFIG_HOME."""
    folder = Path(config) if config else home / ".config"
    return Service(True, folder / "systemd" / "user" / SERVICE)


def run(*command: str) -> str:
    """Run a program of the system; returns its output. Raises ConfigError with its words."""
    if shutil.which(command[0]) is None:
        raise ConfigError(f"{command[0]} is not installed. The service needs systemd; without it, use `tierbot run`.")
    return processes.run(command, seconds=SECONDS)

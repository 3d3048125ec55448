"""Hands over to `tierbot service install`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

SYSTEMD = Path("/run/systemd/system")
"""Exists where systemd runs the machine."""
COMMAND = "import sys; sys.path[:0] = sys.argv.pop(1).split(':'); from bot.__main__ import main; sys.exit(main())"
"""Imports the bot from where this process has it."""


def available(systemd: Path = SYSTEMD) -> bool:
    """Whether a service can be installed on this machine."""
    return systemd.is_dir() and find_spec("bot.ops.service") is not None


def install(environment: Mapping[str, str], workspace: Path) -> int:
    """Install and start the service, for the whole machine as root and else for this user; returns the exit code. It
    says what it does."""
    variant = () if os.geteuid() == 0 else ("--user",)
    arguments = (sys.executable, "-c", COMMAND, ":".join(sys.path), "service", "install", *variant)
    return subprocess.run(arguments, env={**environment, "WORKSPACE": str(workspace)}, check=False).returncode

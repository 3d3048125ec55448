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
_ROOT = Path(__file__).resolve().parents[3]
_CODE = "import sys; sys.path[0] = sys.argv.pop(1); from bot.__main__ import main; sys.exit(main())"


def available(systemd: Path = SYSTEMD) -> bool:
    """Whether a service can be installed on this machine."""
    return systemd.is_dir() and find_spec("bot.ops.service") is not None


def install(environment: Mapping[str, str], workspace: Path) -> int:
    """Install and start the service, for the whole machine as root and else for this user; returns the exit code. It
    says what it does."""
    variant = () if os.geteuid() == 0 else ("--user",)
    return run_tierbot({**environment, "WORKSPACE": str(workspace)}, "service", "install", *variant)


def run_tierbot(environment: Mapping[str, str], *arguments: str) -> int:
    """Run this installation's command line in another process with the same terminal; returns the exit code."""
    command = (sys.executable, "-c", _CODE, str(_ROOT), *arguments)
    return subprocess.run(command, env=dict(environment), check=False).returncode

"""Runs other programs to their end, if need be as the owner of what they change."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from routing.errors import ConfigError

SECONDS = 1800.0
"""A Raspberry Pi with a slow memory card and network needs several minutes for all packages."""
LAST_LINES = 5


class ProgramFailed(ConfigError):
    """A program ended with this exit code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


def run(
    command: Sequence[str],
    folder: Path | None = None,
    owner: int = 0,
    variables: Mapping[str, str] = MappingProxyType({}),
    seconds: float = SECONDS,
) -> str:
    """Run a program in `folder`, for at most this time, and return its output. Root runs it as the user with the id
    `owner`. `variables` are added to its environment; other users can see them. Raises ConfigError; ProgramFailed with
    its last lines."""
    if shutil.which(command[0]) is None:
        raise ConfigError(f"{command[0]} is not installed.")
    user, group, groups = None, None, None
    if owner and not os.geteuid():
        entry = pwd.getpwuid(owner)
        user, group, groups = owner, entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
        variables = {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name, **variables}
    try:
        done = subprocess.run(
            ("env", *(f"{name}={value}" for name, value in variables.items()), *command),
            cwd=folder,
            user=user,
            group=group,
            extra_groups=groups,
            umask=0o022,  # the service's user has to read the program; ours is 0o077
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"`{' '.join(command)}` took more than {seconds / 60:g} minutes.") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        last = "".join(f"\n  {line}" for line in lines[-LAST_LINES:]) if len(lines) > 1 else f" {lines[0]}"
        raise ProgramFailed(f"`{' '.join(command)}` failed:{last}", done.returncode)
    return done.stdout

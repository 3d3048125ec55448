"""The result of a sandboxed command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.config.sandbox import SandboxLimits

Ended = Literal["exit", "seconds", "memory", "processes", "disk", "output"]
"""Why a command ended: normally, or which limit stopped it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A truncated output, in characters: the `total` length and the `first` and `last` parts shown."""

    total: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ExecResult:
    """A finished command. `output` combines standard output and errors in order, without control characters except line
    breaks and tabs. `exit_code` is 128 + n after signal n, and None if a limit stopped the command. `seconds` is
    wall-clock time. `cut` is set if the middle of the output is missing. `full`: the folder had no room for more at the
    start."""

    output: str
    exit_code: int | None
    ended: Ended
    seconds: float
    cut: Cut | None = None
    full: bool = False


def describe_limit(ended: Ended, limits: SandboxLimits) -> str:
    """How a program ended, as a clause: "after 60 s: the time limit"."""
    return {
        "exit": "by itself",
        "seconds": f"after {limits.seconds:g} s: the time limit",
        "memory": f"beyond {limits.memory_bytes / 1e6:.0f} MB: the memory limit",
        "processes": f"beyond {limits.processes} processes and threads: their limit",
        "disk": f"beyond {limits.disk_bytes / 1e6:.0f} MB or {limits.files} files: the limit of the folder",
        "output": "for printing too much: the output limit",
    }[ended]

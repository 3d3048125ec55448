"""The limits of a sandboxed command and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.config.jsonfile import JsonObject

MIB = 1024 * 1024

ENDING_CHARACTERS = 500
"""Reserved for how a command ended and what was cut from its output. At most 300 are needed."""

Ended = Literal["exit", "seconds", "memory", "processes", "disk", "output"]
"""Why a command ended: normally, or which limit stopped it."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits per command, sized for a Raspberry Pi 4 with 4 GB.

    `seconds` is wall-clock time. `memory_bytes` and `processes` (including threads) apply to the whole sandbox,
    `disk_bytes` and `files` to the person's whole folder; a folder that is already above them may only shrink.
    `output_chars` limits everything the model is told: head and tail of the output, and how the command ended.
    `network` gives access to the machine's own network, including loopback; use it only if all admitted people are
    trusted."""

    seconds: float = 60.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    disk_bytes: int = 500 * MIB
    files: int = 20_000
    output_chars: int = 90_000
    network: bool = False

    @property
    def printed_chars(self) -> int:
        """Characters of the output to keep."""
        return max(self.output_chars - ENDING_CHARACTERS, self.output_chars // 2)


def read_limits(section: JsonObject) -> SandboxLimits:
    """Reads `sandbox` from the configuration: seconds, memoryMb, processes, folderMb, files, network. Raises
    ConfigError."""
    usual = SandboxLimits()
    return SandboxLimits(
        seconds=float(section.whole("seconds", int(usual.seconds))),
        memory_bytes=section.whole("memoryMb", usual.memory_bytes // MIB) * MIB,
        processes=section.whole("processes", usual.processes),
        disk_bytes=section.whole("folderMb", usual.disk_bytes // MIB) * MIB,
        files=section.whole("files", usual.files),
        network=section.flag("network", usual.network),
    )


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
    wall-clock time. `cut` is set if the middle of the output is missing."""

    output: str
    exit_code: int | None
    ended: Ended
    seconds: float
    cut: Cut | None = None

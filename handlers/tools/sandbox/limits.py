"""What a command may have, and what came of it: frozen, slotted, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.jsonfile import JsonObject

MIB = 1024 * 1024

Ended = Literal["exit", "seconds", "memory", "processes", "disk", "output"]
"""Why a command is over: by itself, or which limit ended it."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """For one command, sized for a Raspberry Pi 4 with 4 GB.

    `seconds` is wall clock. `memory_bytes` and `processes` (threads count) are for everything in the sandbox together,
    `disk_bytes` and `files` for the person's whole folder; one that is over them at the start may be cleaned up, not
    filled further. `output_chars` are kept of what is printed, head and tail. `network` is the machine's own, its
    loopback included: it is for owners who trust everybody that they let in.
    """

    seconds: float = 60.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    disk_bytes: int = 500 * MIB
    files: int = 20_000
    output_chars: int = 200_000
    network: bool = False


def read_limits(section: JsonObject) -> SandboxLimits:
    """`sandbox` of the configuration: seconds, memoryMb, processes, folderMb, files, network. Raises ConfigError."""
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
class Ran:
    """A command that is over. `output` is what it printed, errors between the rest as they came, free of control
    characters but line breaks and tabs. `exit_code` is 128 + n after signal n, None when a limit ended it; `seconds` is
    wall clock."""

    output: str
    exit_code: int | None
    ended: Ended
    seconds: float

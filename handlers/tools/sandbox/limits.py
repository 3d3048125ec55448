"""What a command may have, and what came of it: frozen, slotted, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from routing.config.jsonfile import JsonObject

MIB = 1024 * 1024

ENDING_CHARS = 500
"""For how a command ended and what was left out of its output; 300 are the most that they need."""

Ended = Literal["exit", "seconds", "memory", "processes", "disk", "output"]
"""Why a command is over: by itself, or which limit ended it."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """For one command, sized for a Raspberry Pi 4 with 4 GB.

    `seconds` is wall clock. `memory_bytes` and `processes` (threads count) are for everything in the sandbox together,
    `disk_bytes` and `files` for the person's whole folder; one that is over them at the start may be cleaned up, not
    filled further. `output_chars` is how long everything told of a command may be, head and tail of what it printed and
    how it ended. `network` is the machine's own, its loopback included: it is for owners who trust everybody that they
    let in.
    """

    seconds: float = 60.0
    memory_bytes: int = 512 * MIB
    processes: int = 64
    disk_bytes: int = 500 * MIB
    files: int = 20_000
    output_chars: int = 90_000
    network: bool = False

    @property
    def printed_chars(self) -> int:
        """How much is kept of what is printed."""
        return max(self.output_chars - ENDING_CHARS, self.output_chars // 2)


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
class Cut:
    """What is shown of an output that was too long, in characters: of `total`, the `first` and the `last`."""

    total: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that is over. `output` is what it printed, errors between the rest as they came, free of control
    characters but line breaks and tabs. `exit_code` is 128 + n after signal n, None when a limit ended it; `seconds` is
    wall clock; `cut` is there when the middle of the output is not."""

    output: str
    exit_code: int | None
    ended: Ended
    seconds: float
    cut: Cut | None = None

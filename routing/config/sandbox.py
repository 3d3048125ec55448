"""The limits of sandboxed commands, `sandbox` in the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from routing.config.jsonfile import JsonObject

MIB = 1024 * 1024
SHARE_OF_RESULT = 0.9
"""Share of the maximum tool result for a command's output; the rest is for its exit status."""
ENDING_CHARACTERS = 500
"""Reserved for how a command ended and what was cut from its output. At most 300 are needed."""


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


def read_limits(section: JsonObject, most_result_chars: int) -> SandboxLimits:
    """Reads seconds, memoryMb, processes, folderMb, files, network. `most_result_chars` is the maximum length of a
    tool's result. Raises ConfigError."""
    usual = SandboxLimits()
    return SandboxLimits(
        seconds=float(section.whole("seconds", int(usual.seconds))),
        memory_bytes=section.whole("memoryMb", usual.memory_bytes // MIB) * MIB,
        processes=section.whole("processes", usual.processes),
        disk_bytes=section.whole("folderMb", usual.disk_bytes // MIB) * MIB,
        files=section.whole("files", usual.files),
        output_chars=int(SHARE_OF_RESULT * most_result_chars),
        network=section.flag("network", usual.network),
    )

"""What a sandbox takes of the machine, as /proc tells it from outside. Every function blocks; call them in a thread."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from handlers.tools.sandbox.limits import MIB, Ended, SandboxLimits
from handlers.tools.sandbox.size import Size, measure

_BUBBLEWRAPS = 2
"""It waits outside, and it is the first process inside."""
_PRIVATE = ("RssAnon", "RssShmem", "VmSwap")
OTHERS_BYTES = 256 * MIB
"""What others may take of the machine's shared memory or disk while a command runs, without its being blamed."""
LEAST_FREE_MEMORY = 64 * MIB
LEAST_FREE_DISK = 100 * MIB
"""Below these the whole machine is in danger, whoever took the rest."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes: memory that could be had, memory shared between processes (files in memory are such), free disk."""

    available: int | None
    shared: int
    free: int


@dataclass(frozen=True, slots=True)
class Watch:
    """Compares one sandbox, the process `root` and all below it, with its limits and with how things stood before.

    A process can hide memory from every count of its own: in files in memory, in shared memory that it does not map at
    the moment, in files on the disk that it deleted and keeps open. So what the machine lost counts, too.
    """

    root: int
    folder: int
    limits: SandboxLimits
    before: Machine
    size: Size

    def load(self) -> Ended | None:
        """The limit on processes, memory, or the machine's disk that is passed; about 1 ms."""
        found = list(_family(self.root, 4 * self.limits.processes))
        states = [_status(pid) for pid in found]
        if sum(state.get("Threads", 0) for state in states) > self.limits.processes + _BUBBLEWRAPS:
            return "processes"
        # Twice: while a family dies, what it shared is divided by ever fewer.
        if sum(map(_held, states)) > self.limits.memory_bytes and self._too_large() and self._too_large():
            return "memory"
        now = machine(self.folder)
        if now.available is not None and now.available < LEAST_FREE_MEMORY:
            return "memory"
        if now.shared - self.before.shared > self.limits.memory_bytes + OTHERS_BYTES:
            return "memory"
        lost = self.before.free - now.free
        too_much = lost > self.limits.disk_bytes + OTHERS_BYTES or (now.free < LEAST_FREE_DISK and lost > MIB)
        return "disk" if too_much else None

    def _too_large(self) -> bool:
        return sum(map(_proportional, _family(self.root, 4 * self.limits.processes))) > self.limits.memory_bytes

    def disk(self) -> Ended | None:
        """The limit on the folder; about 3 ms for 1,000 files."""
        grown = measure(self.folder).grown_over(self.size, self.limits.disk_bytes, self.limits.files)
        return "disk" if grown else None


def machine(folder: int) -> Machine:
    """How the machine is now. /proc/meminfo may be hidden from a service; then nothing is known of its memory."""
    told = _pairs(Path("/proc/meminfo"))
    disk = os.fstatvfs(folder)
    return Machine(told.get("MemAvailable"), told.get("Shmem", 0), disk.f_bavail * disk.f_frsize)


def _family(root: int, most: int) -> Iterator[int]:
    """`root` and its descendants. Orphans in the sandbox are adopted by its first process, so none is missed."""
    waiting, seen = [root], 0
    while waiting and seen < most:
        pid = waiting.pop()
        seen += 1
        yield pid
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task")[:most]:
                children = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii")
                waiting += map(int, children.split())


def _status(pid: int) -> dict[str, int]:
    return _pairs(Path(f"/proc/{pid}/status"))


def _held(state: dict[str, int]) -> int:
    return sum(state.get(name, 0) for name in _PRIVATE)


def _proportional(pid: int) -> int:
    """Memory that several processes share after a fork, divided by their number; where a process hides that, its whole
    memory."""
    told = _pairs(Path(f"/proc/{pid}/smaps_rollup"))
    return told["Pss"] + told.get("SwapPss", 0) if "Pss" in told else _held(_status(pid))


def _pairs(path: Path) -> dict[str, int]:
    """Lines such as `RssAnon: 12 kB` in bytes, and plain numbers; empty when the process is gone."""
    found = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            found[name] = int(words[0]) * (1024 if words[-1] == "kB" else 1)
    return found

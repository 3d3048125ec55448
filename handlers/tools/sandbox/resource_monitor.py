"""Measures a sandbox from outside through /proc. All functions block, so call them in a thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from handlers.tools.sandbox.bubblewrap import OPEN_FILES
from handlers.tools.sandbox.folder_size import Moved, Size, measure
from handlers.tools.sandbox.process_tree import ProcessTree
from handlers.tools.sandbox.result import Ended
from routing.config.sandbox import MIB, SandboxLimits

_BUBBLEWRAPS = 2
"""One waits outside; the other is the first process inside."""
_PRIVATE = ("RssAnon", "RssShmem", "VmSwap")
OTHERS_BYTES = 256 * MIB
"""Shared memory or disk that other processes may take during a command without stopping it."""
UNKNOWN_BYTES = 1024 * MIB
"""The same for memory, unless the command may hold it in sockets or pipes."""
DESCRIPTOR_BYTES = 4 * MIB
"""Data that an open socket or pipe can buffer without being charged to a process: 0.4 MB in a local socket, more in
TCP."""
LEAST_FREE_MEMORY = 64 * MIB
LEAST_FREE_DISK = 100 * MIB
"""Below this, the command is stopped, even if other processes used the rest."""


@dataclass(frozen=True, slots=True)
class Machine:
    """In bytes: available memory, shared memory (including in-memory files), free disk space."""

    available: int | None
    shared: int
    free: int


@dataclass(slots=True)
class ResourceMonitor:
    """Compares a sandbox (the process `root` and its descendants) with its limits and with the machine's state at the
    start. `taken` holds the memory of all running sandboxes, by root.

    Processes can hide memory from their own counters: in in-memory files, unmapped shared memory, unread sockets and
    pipes, or deleted files that are still open. Therefore the machine's losses count too."""

    root: int
    folder: int
    limits: SandboxLimits
    before: Machine
    size: Size
    process_tree: ProcessTree
    taken: dict[int, int]
    _others: int = field(init=False)
    _seen: Size = field(init=False)
    _then: os.statvfs_result = field(init=False)

    def __post_init__(self) -> None:
        self._others, self._seen, self._then = sum(self.taken.values()), self.size, os.fstatvfs(self.folder)
        self.taken[self.root] = 0

    def load(self) -> Ended | None:
        """The exceeded limit on processes, memory or the machine's disk, if any. Takes about 1 ms."""
        found = self._process_ids()
        states = [_status(pid) for pid in found]
        if sum(state.get("Threads", 0) for state in states) > self.limits.processes + _BUBBLEWRAPS:
            return "processes"
        self.taken[self.root] = held = sum(map(_held, states))
        # Measure twice: while processes die, their shared memory is divided among fewer.
        if held > self.limits.memory_bytes and self._too_large() and self._too_large():
            return "memory"
        now = machine(self.folder)
        if now.available is not None and now.available < LEAST_FREE_MEMORY:
            return "memory"
        if now.shared - self.before.shared > self.limits.memory_bytes + OTHERS_BYTES:
            return "memory"
        if self._hidden(now, held, found):
            return "memory"
        lost = self.before.free - now.free
        too_much = lost > self.limits.disk_bytes + OTHERS_BYTES or (now.free < LEAST_FREE_DISK and lost > MIB)
        return "disk" if too_much else None

    def _process_ids(self) -> list[int]:
        return list(self.process_tree(self.root, 4 * self.limits.processes))

    def _too_large(self) -> bool:
        return sum(map(_proportional, self._process_ids())) > self.limits.memory_bytes

    def _hidden(self, now: Machine, held: int, found: Sequence[int]) -> bool:
        """Whether the machine lost memory that no process accounts for and that this sandbox may hold in sockets."""
        if now.available is None or self.before.available is None:
            return False
        others = sum(list(self.taken.values())) - held
        lost = self.before.available - now.available - max(others - self._others, 0) - self.limits.memory_bytes
        if lost <= OTHERS_BYTES:
            return False
        return lost > UNKNOWN_BYTES or held + sum(map(_open_files, found)) * DESCRIPTOR_BYTES > lost

    def disk(self) -> Ended | None:
        """Whether the folder exceeds its limit. Takes about 4 ms for 1,000 files."""
        then = os.fstatvfs(self.folder)
        try:
            self._seen = measure(self.folder)
        except Moved:
            return "disk"
        self._then = then
        return "disk" if self._seen.grown_over(self.size, self.limits.disk_bytes, self.limits.files) else None

    def filling(self) -> bool:
        """Whether the disk lost half of the folder's remaining space or files since the last check, so that a new check
        is due. Takes a few microseconds."""
        now = os.fstatvfs(self.folder)
        room = max(self.limits.disk_bytes - self._seen.bytes, 0)
        room_files = max(self.limits.files - self._seen.files, 0)
        lost = (self._then.f_bfree - now.f_bfree) * now.f_frsize
        return 2 * lost > room or 2 * (self._then.f_ffree - now.f_ffree) > room_files


def machine(folder: int) -> Machine:
    """The machine's current state. If /proc/meminfo is hidden from a service, the memory is unknown."""
    memory, disk = _pairs(Path("/proc/meminfo")), os.fstatvfs(folder)
    return Machine(memory.get("MemAvailable"), memory.get("Shmem", 0), disk.f_bavail * disk.f_frsize)


def _open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return 0
    except OSError:  # a process may hide its descriptors
        return OPEN_FILES


def _status(pid: int) -> dict[str, int]:
    return _pairs(Path(f"/proc/{pid}/status"))


def _held(state: dict[str, int]) -> int:
    return sum(state.get(name, 0) for name in _PRIVATE)


def _proportional(pid: int) -> int:
    """The proportional set size of a process, in bytes; its resident memory if the process hides the former."""
    sizes = _pairs(Path(f"/proc/{pid}/smaps_rollup"))
    return sizes["Pss"] + sizes.get("SwapPss", 0) if "Pss" in sizes else _held(_status(pid))


def _pairs(path: Path) -> dict[str, int]:
    """Parses lines such as `RssAnon: 12 kB` to bytes, and plain numbers; empty if the process is gone."""
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

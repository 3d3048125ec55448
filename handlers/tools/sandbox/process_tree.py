"""A process and its descendants, as /proc tells it. Every function blocks; call them in a thread."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

Family = Callable[[int, int], Iterator[int]]
"""A process and at most so many in all. Orphans in the sandbox are adopted by its first process, so none is missed."""


def by_children(root: int, most: int) -> Iterator[int]:
    """As the kernel lists them."""
    waiting, seen = [root], 0
    while waiting and seen < most:
        pid = waiting.pop()
        seen += 1
        yield pid
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task")[:most]:
                children = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii")
                waiting += map(int, children.split())


def by_parents(root: int, most: int) -> Iterator[int]:
    """For a kernel without these lists (CONFIG_PROC_CHILDREN): each process of the machine is asked for its parent."""
    children = defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, IndexError, ValueError):
            told = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
            children[int(told.rpartition(")")[2].split()[1])].append(int(name))
    waiting, seen = [root], 0
    while waiting and seen < most:
        pid = waiting.pop()
        seen += 1
        yield pid
        waiting += children[pid]


FAMILIES: tuple[Family, ...] = (by_children, by_parents)
"""The quicker one first."""
_MOST_LOOKED_AT = 10_000


def sees(family: Family) -> bool:
    """Whether it finds a child of this process; without that no limit on processes and memory would hold."""
    child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", env={})
    try:
        return child.pid in family(os.getpid(), _MOST_LOOKED_AT)
    finally:
        child.kill()
        child.wait()

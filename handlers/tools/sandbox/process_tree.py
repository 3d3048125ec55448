"""Finds a process and its descendants through /proc. All functions block, so call them in a thread."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

ProcessTree = Callable[[int, int], Iterator[int]]
"""A process and its descendants, up to a maximum count. The sandbox's first process adopts orphans, so none is
missed."""


def by_children(root: int, most: int) -> Iterator[int]:
    """Uses the kernel's lists of children."""
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
    """For kernels without CONFIG_PROC_CHILDREN: checks the parent of every process on the machine."""
    children = defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, IndexError, ValueError):
            stat = Path("/proc", name, "stat").read_text(encoding="utf-8", errors="replace")
            children[int(stat.rpartition(")")[2].split()[1])].append(int(name))
    waiting, seen = [root], 0
    while waiting and seen < most:
        pid = waiting.pop()
        seen += 1
        yield pid
        waiting += children[pid]


PROCESS_TREES: tuple[ProcessTree, ...] = (by_children, by_parents)
"""The faster one first."""
_MAX_PROCESSES = 10_000


def is_visible(process_tree: ProcessTree) -> bool:
    """Whether it finds a child of this process. If not, process and memory limits can't be enforced."""
    child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", env={})
    try:
        return child.pid in process_tree(os.getpid(), _MAX_PROCESSES)
    finally:
        child.kill()
        child.wait()

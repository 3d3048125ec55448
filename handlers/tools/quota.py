"""How much a person's own folder may hold."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from handlers.tools.folder import folder_at, look
from routing.errors import ToolFailed

_MOST_DEPTH = 64
"""Folders in folders; each takes descriptors while they are counted."""


@dataclass(slots=True)
class _Count:
    size: int = 0
    entries: int = 0
    too_deep: bool = False


@dataclass(frozen=True, slots=True)
class Quota:
    """`most_bytes` in `most_files` files and folders, counted anew at every write: programs in the sandbox write there,
    too. 20,000 files are counted in 90 ms."""

    most_bytes: int
    most_files: int

    def check(self, own: int, old: os.stat_result | None, size: int) -> None:
        """Raises ToolFailed when `size` bytes more, in place of `old`, are too many for the folder `own`."""
        count = _Count()
        self._add(own, count, 0)
        if count.too_deep:
            full = f"there are more than {_MOST_DEPTH} folders within each other"
        elif count.entries + (old is None) > self.most_files:
            full = f"the folder holds {self.most_files:,} files, which is the most"
        elif count.size - (old.st_size if old else 0) + size > self.most_bytes:
            full = f"the folder holds {count.size:,} bytes, and {self.most_bytes:,} are the most"
        else:
            return
        raise ToolFailed(f"Not written: {full}. Delete something with run_command first.")

    def _add(self, folder: int, count: _Count, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                count.entries += 1
                if count.entries > self.most_files:
                    return
                if not entry.is_dir(follow_symlinks=False):
                    found = look(folder, entry.name)
                    count.size += found.st_size if found else 0
                elif depth >= _MOST_DEPTH:
                    count.too_deep = True
                else:
                    with suppress(ToolFailed), folder_at(folder, (entry.name,)) as below:  # gone meanwhile
                        self._add(below, count, depth + 1)

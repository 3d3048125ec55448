"""The quota of a person's folder."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from handlers.tools.folder import folder_at, look
from routing.errors import ToolFailed

_MAX_DEPTH = 64
"""Maximum folder depth. Counting keeps descriptors open per level."""


@dataclass(slots=True)
class _Count:
    size: int = 0
    entries: int = 0
    too_deep: bool = False


@dataclass(frozen=True, slots=True)
class Quota:
    """At most `most_bytes` in `most_files` files and folders. Counted on every write, because sandboxed programs write
    too. Counting 20,000 files takes 90 ms."""

    most_bytes: int
    most_files: int

    def check(self, own: int, old: os.stat_result | None, size: int) -> None:
        """Raises ToolFailed if replacing `old` with `size` bytes would exceed the quota of `own`."""
        count = _Count()
        self._add(own, count, 0)
        if count.too_deep:
            full = f"there are more than {_MAX_DEPTH} folders within each other"
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
                elif depth >= _MAX_DEPTH:
                    count.too_deep = True
                else:
                    with suppress(ToolFailed), folder_at(folder, (entry.name,)) as below:  # removed meanwhile
                        self._add(below, count, depth + 1)

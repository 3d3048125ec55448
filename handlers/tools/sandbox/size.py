"""How large a person's folder is, measured while others change it."""

from __future__ import annotations

import errno
import math
import os
import stat
from contextlib import suppress
from dataclasses import dataclass

DEEPEST = 100
"""Levels of folders that are looked into; nobody's own files lie deeper, and each costs an open file."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHANGED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes on the disk and number of entries; infinite for a folder that is too deep to measure."""

    bytes: float = 0
    files: float = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.bytes + other.bytes, self.files + other.files)

    def grown_over(self, start: Size, most_bytes: int, most_files: int) -> bool:
        """Beyond a limit and beyond what was there before, so that a full folder can still be cleaned up."""
        return self.bytes > max(most_bytes, start.bytes) or self.files > max(most_files, start.files)


def measure(folder: int, depth: int = 0) -> Size:
    """Everything below an open folder: what vanishes meanwhile does not count, links are not followed, folders that
    were closed to their owner are opened again."""
    if depth > DEEPEST:
        return Size(math.inf, math.inf)
    found = Size()
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                facts = entry.stat(follow_symlinks=False)
                found += Size(facts.st_blocks * 512, 1)
                if stat.S_ISDIR(facts.st_mode):
                    found += _below(folder, entry.name, depth + 1)
            except OSError as error:
                if error.errno not in _CHANGED:
                    raise
    return found


def _below(parent: int, name: str, depth: int) -> Size:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        _let_in(parent, name)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    try:
        return measure(folder, depth)
    finally:
        os.close(folder)


def _let_in(parent: int, name: str) -> None:
    """By a descriptor: the name may be a link to somewhere else by now."""
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
    try:
        with suppress(PermissionError):
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
    finally:
        os.close(handle)

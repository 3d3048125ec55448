"""How large a person's folder is, measured while others change it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from handlers.tools.folder import AS_FOLDER, let_in

_TRIES = 3
"""Whoever moves folders while they are measured makes a measurement fail; hardly so often by chance."""
_CHANGED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_NOT_OURS = (errno.EACCES, errno.EPERM)
"""A folder of another user's: no command can fill it, either."""


class Moved(Exception):
    """The folder that was being measured is not where it was."""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes on the disk and number of entries."""

    bytes: int = 0
    files: int = 0

    def grown_over(self, start: Size, most_bytes: int, most_files: int) -> bool:
        """Beyond a limit and beyond what was there before, so that a full folder can still be cleaned up."""
        return self.bytes > max(most_bytes, start.bytes) or self.files > max(most_files, start.files)


@dataclass(slots=True)
class _Level:
    """A folder that is being measured: what it is, and its folders that are still to come."""

    device: int
    inode: int
    waiting: list[str]


def measure(folder: int) -> Size:
    """Everything below an open folder, however deep: what vanishes meanwhile does not count, links are not followed,
    folders that were closed to their owner are opened again. Raises Moved when somebody keeps moving folders."""
    for _ in range(_TRIES - 1):
        with suppress(Moved):
            return _measured(folder)
    return _measured(folder)


def _measured(folder: int) -> Size:
    """With one descriptor at a time, whatever the depth. On the way back `..` must lead to where we came from, or
    somebody moved a folder and it might lead out."""
    here = os.dup(folder)
    try:
        size, level = _entered(here)
        above: list[_Level] = []
        while level.waiting or above:
            if level.waiting:
                below = _opened(here, level.waiting.pop())
                if below is None:
                    continue
                os.close(here)
                here = below
                above.append(level)
                more, level = _entered(here)
                size = Size(size.bytes + more.bytes, size.files + more.files)
            else:
                level = above.pop()
                here = _left(here, level)
        return size
    finally:
        os.close(here)


def _entered(here: int) -> tuple[Size, _Level]:
    """What lies in a folder itself."""
    facts = os.fstat(here)
    if facts.st_mode & 0o700 != 0o700:
        with suppress(PermissionError):
            os.fchmod(here, 0o700)
    blocks, files, waiting = 0, 0, []
    with os.scandir(here) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError as error:
                if error.errno not in (*_CHANGED, *_NOT_OURS):
                    raise
                continue
            blocks, files = blocks + found.st_blocks, files + 1
            if stat.S_ISDIR(found.st_mode):
                waiting.append(entry.name)
    return Size(blocks * 512, files), _Level(facts.st_dev, facts.st_ino, waiting)


def _opened(parent: int, name: str) -> int | None:
    """A folder in `parent`; None when it is gone, or another user's."""
    try:
        try:
            return os.open(name, AS_FOLDER, dir_fd=parent)
        except PermissionError:
            let_in(parent, name)
            return os.open(name, AS_FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in (*_CHANGED, *_NOT_OURS):
            raise
        return None


def _left(here: int, level: _Level) -> int:
    """The folder above in place of `here`, which is closed."""
    try:
        up = os.open("..", AS_FOLDER, dir_fd=here)
    except FileNotFoundError:  # deleted meanwhile
        raise Moved from None
    facts = os.fstat(up)
    if (facts.st_dev, facts.st_ino) != (level.device, level.inode):
        os.close(up)
        raise Moved
    os.close(here)
    return up

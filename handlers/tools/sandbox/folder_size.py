"""Measures a person's folder while other processes change it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from handlers.tools.folder import AS_FOLDER, restrict_to_owner
from routing.errors import Reason, ToolFailed

_TRIES = 3
"""Moving folders during a measurement makes it fail. That rarely happens by accident."""
_CHANGED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_DENIED = (errno.EACCES, errno.EPERM)
"""Folders of another user. Commands can't write to them either."""


class Moved(Exception):
    """The measured folder was moved."""


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes on disk, number of entries, and the length of all files together."""

    bytes: int = 0
    files: int = 0
    length: int = 0

    def grown_over(self, start: Size, most_bytes: int, most_files: int) -> bool:
        """Whether the folder exceeds a limit and also its size at the start, so that a full folder can be cleaned
        up."""
        return self.bytes > max(most_bytes, start.bytes) or self.files > max(most_files, start.files)


@dataclass(slots=True)
class _Level:
    """The state of a folder during a measurement: its identity and the subfolders left to visit."""

    device: int
    inode: int
    waiting: list[str]


def measure(folder: int) -> Size:
    """Measures everything below an open folder. Ignores vanished entries, does not follow links, and restores access to
    folders closed to their owner. Raises Moved if folders keep being moved."""
    for _ in range(_TRIES - 1):
        with suppress(Moved):
            return _measured(folder)
    return _measured(folder)


def measure_or_fail(folder: int) -> Size:
    """The same for a tool. Raises ToolFailed instead of Moved."""
    try:
        return measure(folder)
    except Moved:
        raise ToolFailed(Reason("Another command is moving folders: try again when it has finished.")) from None


def _measured(folder: int) -> Size:
    """Measures with one open descriptor regardless of depth. On the way back, `..` must be the folder it came from;
    otherwise a folder was moved and `..` might lead outside."""
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
                size = Size(size.bytes + more.bytes, size.files + more.files, size.length + more.length)
            else:
                level = above.pop()
                here = _left(here, level)
        return size
    finally:
        os.close(here)


def _entered(here: int) -> tuple[Size, _Level]:
    """The size of a folder's direct entries."""
    facts = os.fstat(here)
    if facts.st_mode & 0o700 != 0o700:
        with suppress(PermissionError):
            os.fchmod(here, 0o700)
    blocks, files, length, waiting = 0, 0, 0, []
    with os.scandir(here) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError as error:
                if error.errno not in (*_CHANGED, *_DENIED):
                    raise
                continue
            blocks, files = blocks + found.st_blocks, files + 1
            if stat.S_ISDIR(found.st_mode):
                waiting.append(entry.name)
            else:
                length += found.st_size
    return Size(blocks * 512, files, length), _Level(facts.st_dev, facts.st_ino, waiting)


def _opened(parent: int, name: str) -> int | None:
    """Opens a subfolder; None if it is gone or belongs to another user."""
    try:
        try:
            return os.open(name, AS_FOLDER, dir_fd=parent)
        except PermissionError:
            restrict_to_owner(parent, name)
            return os.open(name, AS_FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno not in (*_CHANGED, *_DENIED):
            raise
        return None


def _left(here: int, level: _Level) -> int:
    """Closes `here` and returns its parent."""
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

"""A person's folder: what they send, what tools write, and its quota."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from handlers.tools.folder import (
    file_in,
    folder_at,
    lstat_at,
    own_folder,
    parts_of,
    reason,
    refuse_unless_own,
    shown,
)
from handlers.tools.sandbox.folder_size import Size, measure_or_fail
from routing.errors import Reason, ToolFailed
from routing.text import file_name

INBOX = "inbox"
"""The subfolder for files that the person sends."""
MAX_SENT_BYTES = 50 * 2**20
UNFINISHED = ".tierbot-unfinished-"
"""Prefix of files that are being written. The next write in the folder removes leftovers of a crash."""
LOCKS = 64
"""Number of write locks. A person always gets the same one."""
MAX_FOUND = 2_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_writing = tuple(threading.Lock() for _ in range(LOCKS))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a person; `changed` is in Unix seconds."""

    path: str
    size: int
    changed: float


class FolderFull(ToolFailed):
    """The quota is used up."""


class PersonFiles:
    """Each person has the folder `files/<person id>/`, limited to `most_bytes` and to `most_files` files and folders.
    All methods block, and raise ToolFailed."""

    def __init__(self, files: Path, most_bytes: int = 500 * 2**20, most_files: int = 20_000) -> None:
        self._files = files
        self.most_bytes = most_bytes
        self.most_files = most_files

    @contextmanager
    def own(self, person_id: int) -> Iterator[int]:
        """A descriptor of the person's folder. Disk errors become ToolFailed."""
        try:
            with own_folder(self._files, person_id) as own:
                yield own
        except OSError as error:
            raise ToolFailed(Reason("The folder can't be used: {problem}.", problem=reason(error))) from None

    @contextmanager
    def open(self, person_id: int, parts: tuple[str, ...]) -> Iterator[int]:
        """A read-only descriptor of a file."""
        if not parts:
            raise ToolFailed("This is a folder: give the name of a file.")
        with self.own(person_id) as own, folder_at(own, parts[:-1]) as folder, file_in(folder, parts) as file:
            yield file

    def read(self, person_id: int, path: str, most_bytes: int = MAX_SENT_BYTES) -> tuple[str, bytes]:
        """The path as it is shown, and the content."""
        parts = parts_of(path)
        with self.open(person_id, parts) as file, os.fdopen(os.dup(file), "rb") as stream:
            size = os.fstat(file).st_size
            if size > most_bytes:
                words = "{name} has {size:.1f} MB; at most {most} MB can be sent here."
                raise ToolFailed(Reason(words, name=shown(parts), size=size / 2**20, most=most_bytes // 2**20))
            return shown(parts), stream.read(most_bytes)

    def write(self, person_id: int, parts: tuple[str, ...], data: bytes, replace: bool = True) -> os.stat_result | None:
        """Create or replace a file, with its parent folders; atomic. Returns the status of the file it replaced."""
        if not parts:
            raise ToolFailed("The empty path names a folder: give the name of a file.")
        if parts[-1].startswith(UNFINISHED):
            raise ToolFailed(f"Names that begin with {UNFINISHED} are reserved: choose another one.")
        with _writing[person_id % LOCKS], self.own(person_id) as own:
            self._check_quota(own, _remove_leftovers(own, parts), len(data))
            with folder_at(own, parts[:-1], make=True) as folder:
                old = lstat_at(folder, parts[-1])
                if old:
                    refuse_unless_own(old, parts)
                    if not replace:
                        raise ToolFailed(f"{shown(parts)} is there already. Nothing was changed.")
                replace_file(folder, parts, data, old.st_mode & 0o777 if old else 0o600)
        return old

    def receive(self, person_id: int, name: str, data: bytes) -> str:
        """Store a file that the person sent, under the next free name; returns its path. A file that is there already
        with the same name and content is not stored again."""
        plain = file_name(name)
        stem, ending = os.path.splitext(plain)
        digest = hashlib.sha256(data).digest()
        with (
            _writing[person_id % LOCKS],
            self.own(person_id) as own,
            folder_at(own, (INBOX,), make=True) as folder,
        ):
            for number in count(1):
                parts = (INBOX, plain if number == 1 else f"{stem}-{number}{ending}")
                old = lstat_at(folder, parts[1])
                if old is None:
                    break
                if old.st_size == len(data) and _digest(folder, parts) == digest:
                    return shown(parts)
            self._check_quota(own, _remove_leftovers(own, parts), len(data))
            replace_file(folder, parts, data, 0o600)
        return shown(parts)

    def delete(self, person_id: int, path: str) -> str:
        """Delete a file; returns its path as it is shown."""
        parts = parts_of(path)
        with self.open(person_id, parts), self.own(person_id) as own, folder_at(own, parts[:-1]) as folder:
            try:
                os.unlink(parts[-1], dir_fd=folder)
            except OSError as error:
                words = "{name} can't be deleted: {problem}."
                raise ToolFailed(Reason(words, name=shown(parts), problem=reason(error))) from None
        return shown(parts)

    def usage(self, person_id: int) -> Size:
        """What the person's folder holds."""
        with self.own(person_id) as own:
            return measure_or_fail(own)

    def exact(self, person_id: int, path: str) -> str | None:
        """The path as it is shown; None if there is no such file."""
        with suppress(ToolFailed):
            parts = parts_of(path)
            with self.open(person_id, parts):
                return shown(parts)
        return None

    def found(
        self, person_id: int, since: float = 0.0, everything: bool = False, most: int = MAX_FOUND
    ) -> list[FoundFile]:
        """Regular files changed since then, newest first; at most `most` entries are looked at. Hidden files and
        folders are left out. With `everything`, no file is."""
        files: list[FoundFile] = []
        most = self.most_files if everything else most
        with self.own(person_id) as own:
            waiting: list[tuple[str, ...]] = [()]
            seen = 0
            while waiting and seen < most:
                where = waiting.pop(0)
                with suppress(ToolFailed), folder_at(own, where) as folder, os.scandir(folder) as entries:
                    for entry in entries:
                        seen += 1
                        if (entry.name.startswith(".") and not everything) or seen > most:
                            continue
                        status = lstat_at(folder, entry.name)
                        if status is None:
                            continue
                        if stat.S_ISDIR(status.st_mode):
                            waiting.append((*where, entry.name))
                        elif stat.S_ISREG(status.st_mode) and status.st_mtime >= since:
                            files.append(FoundFile(shown((*where, entry.name)), status.st_size, status.st_mtime))
        return sorted(files, key=lambda each: (-each.changed, each.path))

    def _check_quota(self, own: int, old: os.stat_result | None, size: int) -> None:
        """Raises ToolFailed if replacing `old` with `size` bytes would exceed the quota. Counted on every write,
        because sandboxed programs write too. Counting 20,000 files takes 90 ms."""
        now = measure_or_fail(own)
        if now.files + (old is None) > self.most_files:
            full = f"the folder holds {now.files:,} files, and the limit is {self.most_files:,}"
        elif now.length - (old.st_size if old else 0) + size > self.most_bytes:
            full = f"the folder holds {now.length:,} bytes, and the limit is {self.most_bytes:,}"
        else:
            return
        raise FolderFull(f"Not written: {full}. Delete something with /files or run_command first.")


def _digest(folder: int, parts: tuple[str, ...]) -> bytes:
    """The hash of a file's content; empty if it can't be read."""
    with suppress(ToolFailed, OSError), file_in(folder, parts) as file, os.fdopen(os.dup(file), "rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
    return b""


def _remove_leftovers(own: int, parts: tuple[str, ...]) -> os.stat_result | None:
    """Removes leftovers of a crash and returns the current state of the file; None if it does not exist."""
    with suppress(ToolFailed), folder_at(own, parts[:-1]) as folder:
        with os.scandir(folder) as entries:
            left = [entry.name for entry in entries if entry.name.startswith(UNFINISHED)]
        for name in left:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        return lstat_at(folder, parts[-1])
    return None


def replace_file(folder: int, parts: tuple[str, ...], data: bytes, mode: int) -> None:
    """Replaces the file atomically."""
    unfinished = UNFINISHED + os.urandom(8).hex()
    try:
        file = os.open(unfinished, _NEW, 0o600, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fchmod(file, mode)
                os.fsync(file)
            os.rename(unfinished, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        finally:  # leave no partial file
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
        with suppress(OSError):  # the content is safe; a power cut could at worst restore the old version
            os.fsync(folder)
    except OSError as error:
        words = "{name} was not written: {problem}. What was there is unchanged."
        raise ToolFailed(Reason(words, name=shown(parts), problem=reason(error))) from None

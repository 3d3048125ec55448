"""Tools that read, write and list a person's files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.decoding import text_of
from handlers.tools.dependencies import ToolDependencies
from handlers.tools.folder import (
    file_in,
    folder_at,
    kind_of,
    lstat_at,
    missing,
    own_folder,
    parts_of,
    printable,
    reason,
    refuse_unless_own,
    shown,
)
from handlers.tools.sandbox.folder_size import measure_or_fail
from routing.errors import ToolFailed
from routing.types.tools import ToolScope, Traits

NAME = "files"
MAX_READ_BYTES = 2_000_000
MAX_WRITTEN_CHARACTERS = 1_000_000
"""Maximum length of a file that write_file writes."""
MAX_LISTED = 200
UNFINISHED = ".tierbot-unfinished-"
"""Prefix of files that are being written. The next write in the folder removes leftovers of a crash."""
LOCKS = 64
"""Number of write locks. A person always gets the same one."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def build(dependencies: ToolDependencies) -> Tools:
    limits = dependencies.sandbox.limits
    return tools_of(FileTools(dependencies.files, limits.disk_bytes, limits.files))


class FileTools:
    """Each person has the folder `files/<person id>/`, limited to `most_bytes` and to `most_files` files and
    folders."""

    def __init__(self, files: Path, most_bytes: int = 500 * 2**20, most_files: int = 20_000) -> None:
        self._files = files
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._writing = tuple(threading.Lock() for _ in range(LOCKS))

    @tool
    def read_file(self, scope: ToolScope, path: str) -> str:
        """The whole text of a file. Raises ToolFailed if it is missing, too large or not text."""
        parts = parts_of(path)
        if not parts:
            raise ToolFailed(f"{path or 'The empty path'} is a folder: use list_files.")
        with (
            self._own(scope) as own,
            folder_at(own, parts[:-1]) as folder,
            file_in(folder, parts) as file,
            os.fdopen(os.dup(file), "rb") as stream,
        ):
            size, data = os.fstat(file).st_size, stream.read(MAX_READ_BYTES + 1)
        name = shown(parts)
        if len(data) > MAX_READ_BYTES:
            raise ToolFailed(
                f"{name} has {size:,} bytes, more than the {MAX_READ_BYTES:,} that read_file takes: "
                f"read a part with run_command, such as `head -c 20000 FILE` or `sed -n '1,200p' FILE`."
            )
        return text_of(data, name) if data else f"{name} is empty."

    @tool(traits=Traits(parallel=False, changes=True))
    def write_file(self, scope: ToolScope, path: str, content: str) -> str:
        """Creates or replaces a file, including its parent folders. The replacement is atomic."""
        parts = parts_of(path)
        if not parts or path.endswith("/"):
            raise ToolFailed(f"{path or 'The empty path'} names a folder: give the name of a file.")
        if parts[-1].startswith(UNFINISHED):
            raise ToolFailed(f"Names that begin with {UNFINISHED} are reserved: choose another one.")
        if len(content) > MAX_WRITTEN_CHARACTERS:
            problem = f"{len(content):,} characters are more than the {MAX_WRITTEN_CHARACTERS:,} that write_file takes"
            raise ToolFailed(f"{problem}: write several files.")
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            problem = f"Character {error.start + 1:,} of the content is half a character (a lone surrogate)"
            raise ToolFailed(f"{problem}: write it whole.") from None
        with self._writing[scope.person.id % LOCKS], self._own(scope) as own:
            self._check_quota(own, _remove_leftovers(own, parts), len(data))
            with folder_at(own, parts[:-1], make=True) as folder:
                old = lstat_at(folder, parts[-1])
                if old:
                    refuse_unless_own(old, parts)
                _replace(folder, parts, data, old.st_mode & 0o777 if old else 0o600)
        done = f"replaced {old.st_size:,} bytes" if old else "new file"
        return f"Wrote {len(data):,} bytes to {shown(parts)} ({done})."

    @tool
    def list_files(self, scope: ToolScope, path: str = ".") -> str:
        """Lists a folder, subfolders first, or describes one file. Times are in UTC."""
        parts = parts_of(path)
        with self._own(scope) as own:
            if parts:
                with folder_at(own, parts[:-1]) as above:
                    found = lstat_at(above, parts[-1])
                    if found is None:
                        raise missing(above, parts)
                    if not stat.S_ISDIR(found.st_mode):
                        return _line(shown(parts), found)
            with folder_at(own, parts) as folder:
                return _listing(folder, parts)

    @contextmanager
    def _own(self, scope: ToolScope) -> Iterator[int]:
        """The person's folder. Disk errors are reported to the model."""
        try:
            with own_folder(self._files, scope.person.id) as own:
                yield own
        except OSError as error:
            raise ToolFailed(f"The folder can't be used: {reason(error)}.") from None

    def _check_quota(self, own: int, old: os.stat_result | None, size: int) -> None:
        """Raises ToolFailed if replacing `old` with `size` bytes would exceed the quota. Counted on every write,
        because sandboxed programs write too. Counting 20,000 files takes 90 ms."""
        now = measure_or_fail(own)
        if now.files + (old is None) > self._most_files:
            full = f"the folder holds {now.files:,} files, and the limit is {self._most_files:,}"
        elif now.length - (old.st_size if old else 0) + size > self._most_bytes:
            full = f"the folder holds {now.length:,} bytes, and the limit is {self._most_bytes:,}"
        else:
            return
        raise ToolFailed(f"Not written: {full}. Delete something with run_command first.")


def _listing(folder: int, parts: tuple[str, ...]) -> str:
    with os.scandir(folder) as entries:
        names = [(not entry.is_dir(follow_symlinks=False), entry.name) for entry in entries]
    names = sorted(pair for pair in names if not pair[1].startswith(UNFINISHED))
    if not names:
        return f"{shown(parts)} is an empty folder."
    seen = [(name, lstat_at(folder, name)) for _, name in names[:MAX_LISTED]]
    lines = [_line(printable(name), found) for name, found in seen if found]
    more = [f"… and {len(names) - MAX_LISTED:,} more"] if len(names) > MAX_LISTED else []
    return "\n".join([f"{shown(parts)} holds {len(names):,} (times are UTC):", *lines, *more])


def _line(name: str, found: os.stat_result) -> str:
    when, kind = f"{datetime.fromtimestamp(found.st_mtime, UTC):%Y-%m-%d %H:%M}", kind_of(found.st_mode)
    if kind == "folder":
        return f"folder  {name}/  {when}"
    return f"{kind}  {name}  {found.st_size:,} bytes  {when}"


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


def _replace(folder: int, parts: tuple[str, ...], data: bytes, mode: int) -> None:
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
        raise ToolFailed(f"{shown(parts)} was not written: {reason(error)}. What was there is unchanged.") from None

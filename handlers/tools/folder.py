"""Safe access to a person's folder: paths are opened by descriptors, one component at a time.

No path is checked first and used later, so swapping a name for a link in between has no effect. Links are never
followed, `..` never leaves the folder, and files with a second hard link are refused."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from rapidfuzz import process

from routing.errors import Reason, ToolFailed, system_reason

MOUNT = "/files"
"""Where the sandbox mounts the person's folder."""
MAX_PATH_CHARACTERS = 1024
MAX_NAME_BYTES = 255  # NAME_MAX on Linux
MAX_DEPTH = 32
AS_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a folder but never follow a link."""
_NAMES_COMPARED = 2000
_BIDI_CONTROLS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Bidirectional control characters, which disguise names."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "it is not permitted",
    errno.EPERM: "it is not permitted",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENXIO: "it is not a regular file",
}


def parts_of(path: str, mount: str = MOUNT) -> tuple[str, ...]:
    """The components of `path` relative to a folder; empty for the folder itself. Does not access the disk. `mount` is
    where models see the folder, by default the person's; empty: nowhere. Raises ToolFailed if the path leaves it."""
    if len(path) > MAX_PATH_CHARACTERS:
        raise ToolFailed(f"The path is longer than {MAX_PATH_CHARACTERS} characters: use a shorter one.")
    if not all(map(_is_plain, path)):
        raise ToolFailed("The path contains a control character: use a plain name such as notes/a.txt.")
    if path.startswith("/") and not (mount and f"{path}/".startswith(f"{mount}/")):
        hint = f", or one below {mount}/" if mount else ""
        raise ToolFailed(f"{path} is outside the folder: use a path relative to it{hint}.")
    parts = _normalized(path.removeprefix(mount))
    if len(parts) > MAX_DEPTH:
        raise ToolFailed(f"The path is more than {MAX_DEPTH} folders deep: use a shorter one.")
    if any(len(name.encode()) > MAX_NAME_BYTES for name in parts):
        raise ToolFailed(f"A name in the path is longer than {MAX_NAME_BYTES} bytes: use a shorter one.")
    return tuple(parts)


def _normalized(path: str) -> list[str]:
    parts: list[str] = []
    for name in path.split("/"):
        if name == ".." and not parts:
            raise ToolFailed("The path leaves the folder by `..`: use a path inside it, such as notes/a.txt.")
        if name == "..":
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    return parts


def shown(parts: tuple[str, ...]) -> str:
    """A path in the form that the model can use again."""
    return printable("/".join(parts)) or "."


def fingerprint(content: bytes) -> str:
    """A part of the SHA-256, for a confirmation: too long for anybody to make two files that agree in it."""
    return hashlib.sha256(content).hexdigest()[:32]


def printable(name: str) -> str:
    """A name on one line, even if its bytes are not valid text."""
    text = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "".join(char if _is_plain(char) else char.encode("unicode_escape").decode() for char in text)


def _is_plain(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") and char not in _BIDI_CONTROLS


def kind_of(mode: int) -> str:
    """The type of an entry: file, folder, link, pipe, socket or device."""
    return _KINDS.get(stat.S_IFMT(mode), "special file")


@contextmanager
def own_folder(files: Path, person_id: int) -> Iterator[int]:
    """A descriptor of the person's folder below `files`. Creates the folder if needed and resets its permissions to
    this user only."""
    name = str(person_id)
    try:
        files.mkdir(mode=0o700, parents=True, exist_ok=True)
        above = os.open(files, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=above)
            restrict_to_owner(above, name)
            own = os.open(name, AS_FOLDER, dir_fd=above)
        finally:
            os.close(above)
    except OSError as error:
        words = "The person's folder can't be opened: {problem}. The owner has to fix it."
        raise ToolFailed(Reason(words, problem=reason(error))) from None
    try:
        yield own
    finally:
        os.close(own)


def restrict_to_owner(above: int, name: str) -> None:
    """Sets a folder's permissions to its owner only. Works on a descriptor, because the name may have become a link."""
    handle = os.open(name, AS_FOLDER | os.O_PATH, dir_fd=above)
    try:
        if stat.S_IMODE(os.fstat(handle).st_mode) != 0o700:
            with suppress(OSError):  # owned by another user: opening it shows whether it is usable
                os.chmod(f"/proc/self/fd/{handle}", 0o700)
    finally:
        os.close(handle)


@contextmanager
def folder_at(own: int, parts: tuple[str, ...], make: bool = False) -> Iterator[int]:
    """A descriptor of the folder at `parts` below `own`. `make` creates missing folders. Raises ToolFailed."""
    here = os.dup(own)
    try:
        for depth, name in enumerate(parts):
            below = _step(here, parts[: depth + 1], name, make)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _step(here: int, path: tuple[str, ...], name: str, make: bool) -> int:
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=here)
        return os.open(name, AS_FOLDER, dir_fd=here)
    except FileNotFoundError:
        raise missing(here, path) from None
    except NotADirectoryError:
        found = lstat_at(here, name)
        if found is None or stat.S_ISDIR(found.st_mode):
            raise _changed(path) from None
        kind = kind_of(found.st_mode)
        raise ToolFailed(f"{shown(path)} is a {kind}, not a folder" + _remedy(kind)) from None
    except OSError as error:
        raise ToolFailed(
            Reason("{name} can't be opened: {problem}.", name=shown(path), problem=reason(error))
        ) from None


@contextmanager
def file_in(folder: int, parts: tuple[str, ...]) -> Iterator[int]:
    """A read-only descriptor of the regular file named by the last of `parts` in `folder`. Raises ToolFailed."""
    name = parts[-1]
    try:
        file = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise missing(folder, parts) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ToolFailed(f"{shown(parts)} is a link" + _remedy("link")) from None
        raise ToolFailed(Reason("{name} can't be read: {problem}.", name=shown(parts), problem=reason(error))) from None
    try:
        refuse_unless_own(os.fstat(file), parts)
        # Check name and descriptor together: a second hard link may have been removed in the meantime.
        if (now := lstat_at(folder, name)) is None or now.st_nlink != 1 or not os.path.samestat(now, os.fstat(file)):
            raise _changed(parts)
        yield file
    finally:
        os.close(file)


def refuse_unless_own(found: os.stat_result, parts: tuple[str, ...]) -> None:
    """Raises ToolFailed if the entry is not a regular file or has a second hard link, which may be outside."""
    kind = kind_of(found.st_mode)
    if kind == "folder":
        raise ToolFailed(f"{shown(parts)} is a folder: use list_files.")
    if kind != "file":
        raise ToolFailed(f"{shown(parts)} is a {kind}" + _remedy(kind))
    if found.st_nlink > 1:
        raise ToolFailed(f"{shown(parts)} is a hard link to another file: make a copy and use that.")


def lstat_at(folder: int, name: str) -> os.stat_result | None:
    """The status of `name` in `folder`, without following links; None if it is missing or inaccessible."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def missing(folder: int, parts: tuple[str, ...]) -> ToolFailed:
    """An error for a missing entry, with similar names."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, _NAMES_COMPARED)]
    like = map(printable, names)
    near = process.extract(parts[-1], like, processor=str.casefold, limit=3, score_cutoff=50)
    hint = f" The nearest names there: {', '.join(found for found, _, _ in near)}." if near else " Use list_files."
    return ToolFailed(f"There is no {shown(parts)}.{hint}")


def _changed(parts: tuple[str, ...]) -> ToolFailed:
    return ToolFailed(Reason("{name} changed while it was being opened: try again.", name=shown(parts)))


def reason(error: OSError) -> str:
    """The error as a clause without a path."""
    if error.errno in _REASONS:
        return Reason(_REASONS[error.errno])
    return system_reason(error) if error.errno else Reason("an error of the disk")


def _remedy(kind: str) -> str:
    return ": links are not followed, use the file itself." if kind == "link" else ": choose another path."

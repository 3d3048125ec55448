"""Which files of a workspace belong into a backup."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from bot.config.workspace import JOURNAL, LOCK, RESTORES, TERMINAL
from handlers.tools.files import person_files
from routing.atomic_file import UNFINISHED
from routing.errors import system_reason

LEFT_OUT = frozenset(
    {"backups", "cache", "edits", LOCK, JOURNAL, RESTORES}
    | {f"{TERMINAL}/{name}" for name in ("backups", "cache", LOCK)}
)
"""Not in a backup. A restore leaves these of the workspace as they are."""
WEIGHTS = "models"
"""Of this folder only its JSON files are in a backup: weights are large and can be downloaded again."""
FIRST = "outgoing"
"""Its files are deleted once they are sent, so they are read right after the database that names them."""
FILES = "files"
"""Here sandboxed programs may have made links to anywhere; nothing follows them."""
MAX_DEPTH = 64
"""Folders within folders; a program may have made thousands."""
MAX_NAME_BYTES = 1_000

Kind = Literal["file", "folder", "link"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, a folder or a link; `path` is relative to the workspace, `changed` is in Unix seconds, `target` is where
    a link leads. The `stream` of a file is at its start, and open until the next entry is asked for."""

    path: str
    kind: Kind
    mode: int
    changed: float
    size: int = 0
    target: str = ""
    stream: BinaryIO | None = field(default=None, compare=False)


Skip = Callable[[str, str], None]
"""Called with the path of what can't be in a backup, and the reason."""


def entries(root: Path, left_out: Collection[str], skip: Skip) -> Iterator[Entry]:
    """Everything in the workspace except LEFT_OUT, `left_out` and weights; folders come before their content. Takes
    little memory for a workspace of any size."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield from _walk(handle, "", LEFT_OUT.union(left_out), skip)
    finally:
        os.close(handle)


def size(root: Path, left_out: Collection[str]) -> int:
    """Bytes of all files that belong into a backup."""
    return sum(entry.size for entry in entries(root, left_out, lambda path, reason: None))


def is_weight(path: str) -> bool:
    """Whether a path in the workspace is among the weights, which are not in a backup."""
    folder, slash, name = path.partition("/")
    return bool(slash) and folder == WEIGHTS and not ("/" not in name and name.endswith(".json"))


def is_safe_link(path: str, target: str) -> bool:
    """Whether a link stays within the workspace, whatever the folders on its way are; in FILES it may lead anywhere."""
    if path.startswith(f"{FILES}/"):
        return True
    parts = PurePosixPath(target).parts
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    return not target.startswith("/") and ".." not in parts[up:] and up < len(PurePosixPath(path).parts)


def _walk(folder: int, prefix: str, left_out: frozenset[str], skip: Skip) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        names = sorted((entry.name for entry in found), key=lambda name: (bool(prefix) or name != FIRST, name))
    for name in names:
        path = f"{prefix}{name}"
        if path in left_out or is_weight(path) or _is_unfinished(path, name):
            continue
        if len(os.fsencode(path)) > MAX_NAME_BYTES or path.count("/") >= MAX_DEPTH:
            skip(path[:200], "it is too deep in folders")
            continue
        try:
            yield from _entry(folder, name, path, left_out, skip)
        except FileNotFoundError:
            continue  # deleted meanwhile
        except PermissionError as error:
            skip(path, system_reason(error))


def _entry(folder: int, name: str, path: str, left_out: frozenset[str], skip: Skip) -> Iterator[Entry]:
    """The entry of this name in a folder and, if it is a folder, everything in it."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=folder)
        if is_safe_link(path, target):
            yield Entry(path, "link", 0o777, status.st_mtime, target=target)
        else:
            skip(path, "it is a link that leads out of the workspace")
    elif stat.S_ISDIR(status.st_mode):
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            yield Entry(path, "folder", status.st_mode & 0o777, status.st_mtime)
            yield from _walk(handle, f"{path}/", left_out, skip)
        finally:
            os.close(handle)
    elif stat.S_ISREG(status.st_mode):
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            yield Entry(path, "file", status.st_mode & 0o777, status.st_mtime, status.st_size, stream=stream)
    else:
        skip(path, "it is neither a file nor a folder")


def _is_unfinished(path: str, name: str) -> bool:
    """Whether the bot was writing this file, or ended while it did."""
    if path.startswith(f"{FILES}/"):
        return name.startswith(person_files.UNFINISHED)
    return name.startswith(".") and name.endswith(UNFINISHED)

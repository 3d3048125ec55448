"""Unpacks an archive into an empty folder, verifies all of it, and brings its database to the current revision."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path, PurePosixPath

from bot.ops.backup.archive import BLOCK, DATABASE, WORKSPACE, ArchiveReader, Head
from bot.ops.backup.contents import LEFT_OUT, Entry, is_safe_link, is_weight
from routing.errors import ConfigError
from storage.database.migrate import known_revisions, migrate
from storage.database.sqlite_copy import check, contents

UNPACKED = "files"


def unpack(archive: Path, passphrase: str, folder: Path) -> Head:
    """Unpack the database to DATABASE in `folder` and the files to UNPACKED. Raises ConfigError, or OSError if the
    folder can't be written."""
    unpacking = _Unpacking(folder, archive)
    with archive.open("rb") as stream:
        reader = ArchiveReader(stream, passphrase, str(archive))
        if reader.head.revision not in known_revisions():
            raise ConfigError(
                f"{archive} was made by tierbot {reader.head.tierbot} with revision {reader.head.revision} of the "
                "database, which this version does not know: install a newer one to restore it. Nothing was changed."
            )
        for entry in reader.entries():
            unpacking.add(entry)
    unpacking.finish()
    _check_database(folder / DATABASE, reader.head)
    migrate(f"sqlite:///{folder / DATABASE}", folder / "before-migration")
    return reader.head


class _Unpacking:
    """Creates what an archive names. Links are made last, so no file is written through one."""

    def __init__(self, folder: Path, archive: Path) -> None:
        self._folder = folder
        self._archive = archive
        self._links: list[tuple[Path, str]] = []
        self._folders: list[tuple[Path, int]] = []
        (folder / UNPACKED).mkdir(mode=0o700)

    def add(self, entry: Entry) -> None:
        try:
            if entry.path == DATABASE and entry.kind == "file":
                _write(self._folder / DATABASE, entry, 0o600)
                return
            path = self._folder / UNPACKED / self._relative(entry)
            if entry.kind == "folder":
                path.mkdir(mode=0o700)
                self._folders.append((path, entry.mode))
            elif entry.kind == "link":
                self._links.append((path, entry.target))
            else:
                _write(path, entry, entry.mode)
        except (FileExistsError, FileNotFoundError, NotADirectoryError):
            raise self._forbidden() from None

    def finish(self) -> None:
        """Make the links, and give the folders their modes."""
        for path, target in self._links:
            path.symlink_to(target)
        for path, mode in reversed(self._folders):
            path.chmod(mode)

    def _relative(self, entry: Entry) -> str:
        """The path in the workspace. Raises ConfigError for one that no backup has."""
        name = entry.path.removeprefix(WORKSPACE)
        parts = name.split("/")
        plain = name != entry.path and PurePosixPath(name).parts == tuple(parts) and ".." not in parts
        if not plain or parts[0] in LEFT_OUT or (is_weight(name) and entry.kind != "folder"):
            raise self._forbidden()
        if entry.kind == "link" and not is_safe_link(name, entry.target):
            raise self._forbidden()
        return name

    def _forbidden(self) -> ConfigError:
        return ConfigError(
            f"{self._archive} holds a file name that no backup has, so someone has changed it: it is not used. "
            "Nothing was changed here."
        )


def _write(path: Path, entry: Entry, mode: int) -> None:
    assert entry.stream is not None
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        while data := entry.stream.read(BLOCK):
            file.write(data)
        os.fchmod(file.fileno(), mode)
    os.utime(path, (entry.changed, entry.changed))


def _check_database(database: Path, head: Head) -> None:
    """Raise ConfigError unless the database is sound and is what the head says."""
    try:
        check(database)
        found = contents(database)
        sound = (found.revision, found.rows) == (head.revision, head.rows)
    except sqlite3.Error:
        sound = False
    if not sound:
        raise ConfigError("The database in the backup is damaged: use another backup. Nothing was changed.")

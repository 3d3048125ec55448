"""`tierbot backup FILE`: one archive of the database and the workspace, read back before it gets its name."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from bot.config.workspace import SQLITE_ENDINGS, TERMINAL, TERMINAL_DATABASE, Workspace
from bot.findings import size
from bot.ops.backup.archive import DATABASE, FORMAT, WORKSPACE, ArchiveReader, ArchiveWriter, Head
from bot.ops.backup.contents import Entry, entries
from bot.ops.backup.encryption import MAGIC
from handlers.version import VERSION
from routing.errors import ConfigError, system_reason
from storage.database.snapshot import snapshot
from storage.database.sqlite_copy import Contents, copy
from storage.outgoing_files import sync_folder

LEFTOVER_SECONDS = 86_400.0
"""Work folders of this age were left by a process that was killed."""
GZIP = b"\x1f\x8b"
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished archive. `skipped` are the paths that are not in it, with the reason."""

    path: Path
    size: int
    files: int
    rows: int
    encrypted: bool
    skipped: tuple[tuple[str, str], ...]


def backup(workspace: Workspace, file: str) -> int:
    """Write and verify the archive, and say what it holds; the bot may run meanwhile. Returns the exit code."""
    made = make(workspace, Path(file).expanduser().absolute())
    print(f"Saved {made.path}: {size(made.size)}, {made.rows:,} rows, {made.files:,} files. Read back and verified.")
    for path, reason in made.skipped[:SHOWN]:
        print(f"Not included: {path} ({reason}).", file=sys.stderr)
    if len(made.skipped) > SHOWN:
        print(f"Not included: {len(made.skipped) - SHOWN:,} more.", file=sys.stderr)
    if not made.encrypted:
        print("It holds keys and conversations, unencrypted: keep it private, or set BACKUP_PASSPHRASE.")
    return 0


def make(workspace: Workspace, target: Path, on_step: Callable[[], object] = lambda: None) -> Backup:
    """Write an archive, read it back and give it its name, with mode 0600. `on_step` is called often; an exception of
    it ends the backup. On failure nothing is left behind. Raises ConfigError."""
    settings = workspace.environment.settings
    secret = settings.backup_passphrase
    passphrase = secret.get_secret_value() if secret else ""
    _refuse_other_file(target)
    try:
        with _work_folder(target) as work:
            part, database = work / "archive", work / "database"
            found = snapshot(settings.database, database, on_step)
            left_out = {*database_files(workspace), *_in_workspace(workspace.root, (work, target))}
            writing = _Writing(work, passphrase, on_step)
            with part.open("xb") as stream:
                writing.write(stream, workspace.root, database, found, left_out)
                stream.flush()
                os.fsync(stream.fileno())
            _verify(part, passphrase, writing.digest, target)
            part.chmod(0o600)
            length = part.stat().st_size
            part.replace(target)
            sync_folder(target.parent)
    except OSError as error:
        raise ConfigError(
            "The backup {path} can't be written: {reason}. Free some space or choose another place. Nothing was left "
            "behind.",
            path=target,
            reason=system_reason(error),
        ) from error
    rows = sum(found.rows.values())
    return Backup(target, length, writing.files, rows, bool(passphrase), tuple(writing.skipped))


def database_files(workspace: Workspace) -> tuple[str, ...]:
    """The files of the database that are in the workspace, relative to it."""
    return _in_workspace(workspace.root, workspace.databases())


class _Writing:
    """Writes one archive, and notes what it holds."""

    def __init__(self, work: Path, passphrase: str, on_step: Callable[[], object]) -> None:
        self._work = work
        self._passphrase = passphrase
        self._on_step = on_step
        self.skipped: list[tuple[str, str]] = []
        self.digest = b""
        self.files = 0

    def write(self, target: BinaryIO, root: Path, database: Path, found: Contents, left_out: Collection[str]) -> None:
        with (self._work / "sums").open("x+b") as sums:
            archive = ArchiveWriter(target, sums, self._passphrase, self._on_step)
            archive.head(Head(FORMAT, VERSION, found.revision, time.time(), found.rows))
            self._add_copy(archive, DATABASE, database)
            terminal = tuple(f"{TERMINAL_DATABASE}{ending}" for ending in SQLITE_ENDINGS)
            for entry in entries(root, {*left_out, *terminal}, self._skip):
                if not archive.add(replace(entry, path=f"{WORKSPACE}{entry.path}")):
                    self._skip(entry.path, "it became shorter while it was read, and its end is missing")
                self.files += entry.kind == "file"
            if (root / TERMINAL_DATABASE).is_file():
                copy(root / TERMINAL_DATABASE, self._work / TERMINAL, self._on_step)
                self._add_copy(archive, f"{WORKSPACE}{TERMINAL_DATABASE}", self._work / TERMINAL)
            self.digest = archive.finish()

    def _add_copy(self, archive: ArchiveWriter, name: str, file: Path) -> None:
        """Add a copy of a database, and delete it: it may be large."""
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            archive.add(Entry(name, "file", 0o600, status.st_mtime, status.st_size, stream=stream))
        file.unlink()

    def _skip(self, path: str, reason: str) -> None:
        self.skipped.append((path, reason))


def _verify(part: Path, passphrase: str, digest: bytes, target: Path) -> None:
    """Read an archive back from the disk. The database in it was checked before it was added."""
    with part.open("rb") as stream:
        reader = ArchiveReader(stream, passphrase, str(target))
        for _ in reader.entries():
            pass
        if reader.digest != digest:
            raise ConfigError("The backup {path} reads back differently: check the disk.", path=target)


@contextmanager
def _work_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target` for unfinished files. Those of killed processes are deleted."""
    prefix = f".{target.name[:100]}."
    for old in target.parent.glob(".*.tierbot-backup"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(old)
    work = Path(tempfile.mkdtemp(prefix=prefix, suffix=".tierbot-backup", dir=target.parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _refuse_other_file(target: Path) -> None:
    """Raise ConfigError if the target exists and is no backup: it may have been named by mistake."""
    if target.is_dir():
        raise ConfigError("{path} is a folder: name a file in it, such as tierbot.tar.gz.", path=target)
    if target.exists() and not target.is_file():
        raise ConfigError("{path} is no file: a backup can only be written to one.", path=target)
    try:
        with target.open("rb") as stream:
            start = stream.read(len(MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError("{path} can't be replaced: {reason}.", path=target, reason=system_reason(error)) from error
    if start and start != MAGIC and not start.startswith(GZIP):
        raise ConfigError("{path} exists and is no backup: choose another name. It was not changed.", path=target)


def _in_workspace(root: Path, paths: Collection[Path]) -> tuple[str, ...]:
    """Those of the paths that are in the workspace, relative to it."""
    whole = root.resolve()
    found = (path.parent.resolve() / path.name for path in paths)
    return tuple(path.relative_to(whole).as_posix() for path in found if path.is_relative_to(whole))

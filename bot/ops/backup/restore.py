"""`tierbot restore FILE`: puts the database and the files of a backup in the place of the present ones."""

from __future__ import annotations

import errno
import getpass
import os
import secrets
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values
from filelock import Timeout

from bot.config.workspace import (
    DATABASE_FILE,
    JOURNAL,
    RESTORES,
    SQLITE_ENDINGS,
    TERMINAL,
    Workspace,
    locked,
    refuse_other_folder,
)
from bot.ops.backup.archive import DATABASE, Head
from bot.ops.backup.contents import LEFT_OUT, WEIGHTS, is_weight
from bot.ops.backup.encryption import is_encrypted
from bot.ops.backup.swap import Journal, Move, discard, finish, write_journal
from bot.ops.backup.unpack import UNPACKED, unpack
from bot.ops.ownership import give_all
from routing.errors import ConfigError, system_reason
from storage.database import is_sqlite, parse_url
from storage.database import server_restore as server
from storage.database.sqlite_copy import contents, sync

_Moves = Iterator[tuple[Path, Path]]


@dataclass(frozen=True, slots=True)
class Places:
    """Where a restore works: the workspace, the folder for unpacking, the one for what was there, and the database's
    address (empty: the file in the workspace). `stamp` is its time, in names."""

    root: Path
    staging: Path
    aside: Path
    database_url: str
    stamp: str

    @property
    def database(self) -> Path | None:
        """The database's file; None for a server."""
        if not self.database_url:
            return self.root / DATABASE_FILE
        parsed = parse_url(self.database_url)
        return Path(parsed.database or "").absolute() if is_sqlite(parsed) else None


def restore(workspace: Workspace, file: str) -> int:
    """Restore a backup into the workspace and its database, and say where the old ones are. Returns the exit code. On
    failure nothing is changed, and ConfigError is raised."""
    path, root, settings = Path(file).expanduser().absolute(), workspace.root, workspace.environment.settings
    passphrase = _passphrase(path, workspace)
    refuse_other_folder(root)  # all of it would be put aside
    try:
        with _new_or_locked(root):
            places = _places(root, settings.database_url)
            head, notes = _restore(path, passphrase, places)
    except OSError as error:
        raise ConfigError(
            f"The backup can't be restored into {root}: {system_reason(error)}. Free some space, or choose another "
            "folder. Nothing was changed."
        ) from error
    made = time.strftime("%Y-%m-%d %H:%M", time.gmtime(head.created_at))
    print(f"Restored the backup of {made} UTC into {root}: {sum(head.rows.values()):,} rows.")
    for line in notes:
        print(line)
    return 0


def _restore(path: Path, passphrase: str, places: Places) -> tuple[Head, list[str]]:
    """Unpack and check in the staging folder, then swap. Returns the head and what to tell."""
    try:
        head = unpack(path, passphrase, places.staging)
        note = _check_address(places.staging / UNPACKED / ".env", places)
        _give_to_owner(places)
        return head, [*_swap(places), *note]
    finally:
        if not (places.root / JOURNAL).exists():
            shutil.rmtree(places.staging, ignore_errors=True)


def _swap(places: Places) -> list[str]:
    """Put everything into place. Returns where the old state is."""
    old, new, told = list(_old(places)), list(_new(places)), list[str]()
    database, copy = places.database, places.staging / DATABASE
    if database is None:
        server.require_room(places.database_url)
    elif database.is_relative_to(places.root):
        new.append((copy, database))
    else:
        new.append((_beside(database, copy), database))
        there = [_ending(database, end) for end in SQLITE_ENDINGS if _ending(database, end).exists()]
        kept = _ending(database, f".before-{places.stamp}")
        old += [(each, _ending(kept, each.name.removeprefix(database.name))) for each in there]
        told += [f"The old database is {kept}."] if there else []
    moves = tuple(Move(str(source), str(target)) for source, target in (*old, *new))
    journal = Journal(
        moves, str(places.staging), f"tierbot restore {places.stamp} {secrets.token_hex(4)}" if database is None else ""
    )
    os.sync()
    write_journal(places.root, journal)
    if database is None:
        told += _load(places, journal, f"before_{places.stamp.replace('-', '_')}")
    finish(places.root, journal)
    return [f"The old files are in {places.aside}.", *told] if places.aside.exists() else told


def _load(places: Places, journal: Journal, schema: str) -> list[str]:
    """Load the copy into the server. If that fails, the journal goes, too, unless it is unknown whether it failed."""
    try:
        had_tables = server.load(places.database_url, places.staging / DATABASE, schema, journal.mark)
    except ConfigError:
        if server.loaded(places.database_url) != journal.mark:
            discard(places.root, journal)
            raise
        had_tables = True
    told = f"The old tables, if any, are in the schema {schema}; DROP SCHEMA {schema} CASCADE deletes them."
    return [told] if had_tables else []


def _old(places: Places) -> _Moves:
    """What is put aside: everything that a backup would hold. Raises ConfigError for what can't be renamed."""
    for path in sorted(places.root.iterdir()):
        if path.name in LEFT_OUT or path.name == WEIGHTS:
            continue
        if path.is_mount():
            raise ConfigError(f"{path} is a mount point, which can't be put aside: unmount it. Nothing was changed.")
        yield path, places.aside / path.name
    weights = places.root / WEIGHTS
    for path in sorted(weights.iterdir()) if weights.is_dir() else ():
        if not is_weight(f"{WEIGHTS}/{path.name}"):
            yield path, places.aside / WEIGHTS / path.name


def _new(places: Places) -> _Moves:
    for path in sorted((places.staging / UNPACKED).iterdir()):
        if path.name != WEIGHTS:
            yield path, places.root / path.name
    weights = places.staging / UNPACKED / WEIGHTS
    for path in sorted(weights.iterdir()) if weights.is_dir() else ():
        yield path, places.root / WEIGHTS / path.name


def _beside(database: Path, copy: Path) -> Path:
    """Put the copy beside a database outside the workspace, where it can be renamed. Raises ConfigError if that is not
    ours."""
    with suppress(sqlite3.Error, FileNotFoundError):  # a damaged one is put aside, too
        tables = contents(database).rows.keys()
        if tables and not {"people", "identities"} <= tables:
            raise ConfigError(f"{database} is the database of another program. Nothing was changed.")
    database.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = _ending(database, ".restoring")
    shutil.copyfile(copy, beside)
    beside.chmod(0o600)
    sync(beside)
    return beside


def _ending(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")


def _check_address(env: Path, places: Places) -> list[str]:
    """Raise ConfigError if the restored bot would use a database that nobody asked to replace. Returns what to tell."""
    named = (dotenv_values(env, interpolate=False).get("DATABASE_URL") or "").strip() if env.is_file() else ""
    if not named or named == places.database_url:
        return []
    if not places.database_url:
        raise ConfigError(
            "The .env in the backup names a database in DATABASE_URL. It is replaced only if you ask for it: set "
            f"DATABASE_URL to it, or to sqlite:///{places.root / DATABASE_FILE}, and run this again. Nothing was "
            "changed."
        )
    return [f"{places.root / '.env'} names another database in DATABASE_URL: change it there."]


def _give_to_owner(places: Places) -> None:
    """If root restores another user's workspace, let the files be that user's."""
    owner = places.root.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        give_all(places.staging, owner.st_uid, owner.st_gid)


def _places(root: Path, database_url: str) -> Places:
    """Beside the workspace if folders can be renamed from there, else in it: it may be a mount point, or its parent
    another user's. The staging folder exists then; those of killed restores are deleted."""
    inside = root / RESTORES
    for left in (*root.parent.glob(f".{root.name}.restoring-*"), *inside.glob("restoring-*")):
        shutil.rmtree(left, ignore_errors=True)
    stamp = _unused_stamp(root)
    with suppress(OSError):
        inside.rmdir()  # unless it holds what an earlier restore put aside
    if not inside.exists():
        inside.mkdir(mode=0o700)
        beside = Places(
            root, root.with_name(f".{root.name}.restoring-{stamp}"), _aside(root, stamp), database_url, stamp
        )
        try:
            inside.rename(beside.staging)
            return beside
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EXDEV):
                raise
    staging = inside / f"restoring-{stamp}"
    staging.mkdir(mode=0o700)
    return Places(root, staging, inside / f"before-{stamp}", database_url, stamp)


def _aside(root: Path, stamp: str) -> Path:
    return root.with_name(f"{root.name}.before-{stamp}")


def _unused_stamp(root: Path) -> str:
    """The time, with a number if another restore began in the same second."""
    now = time.strftime("%Y%m%d-%H%M%S")
    stamps = (now, *(f"{now}-{number}" for number in range(2, 1000)))
    return next(stamp for stamp in stamps if not _is_used(root, stamp))


def _is_used(root: Path, stamp: str) -> bool:
    return _aside(root, stamp).exists() or (root / RESTORES / f"before-{stamp}").exists()


@contextmanager
def _new_or_locked(root: Path) -> Iterator[None]:
    """Lock the workspace. If it did not exist, it does not after a failure either."""
    created, done = not root.exists(), False
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        with ExitStack() as locks:
            for folder in (root, root / TERMINAL):
                if folder.is_dir():
                    locks.enter_context(locked(folder))
            yield
        done = True
    except Timeout:
        raise ConfigError(f"A tierbot runs in {root}: stop it first. Nothing was changed.") from None
    finally:
        if created and not done and not (root / JOURNAL).exists():
            shutil.rmtree(root, ignore_errors=True)


def _passphrase(path: Path, workspace: Workspace) -> str:
    """The passphrase of an encrypted backup, from the setting or typed without echo; else empty. Raises ConfigError."""
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is no file: copy the backup into one first.")
    try:
        with path.open("rb") as stream:
            encrypted = is_encrypted(stream)
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {system_reason(error)}.") from error
    if not encrypted:
        return ""
    secret = workspace.environment.settings.backup_passphrase
    if secret is not None:
        return secret.get_secret_value()
    if sys.stdin.isatty():
        with suppress(EOFError):  # Ctrl-D
            return getpass.getpass("Passphrase of the backup: ")
    raise ConfigError("The backup is encrypted: set BACKUP_PASSPHRASE to its passphrase, and run this again.")

"""Copies and checks SQLite files while others use them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

PAGES = 4_000
"""Pages per step of a copy (16 MB); `on_step` is called after each one."""

CHECK_STEPS = 1_000_000
"""Instructions of SQLite's machine between two calls of `on_step` during a check: about 20 ms."""

OnStep = Callable[[], object]
"""Called between two steps; an exception of it ends the copy."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The revision of a database (empty for none), and the number of rows of each table."""

    revision: str
    rows: Mapping[str, int]


def copy(source: Path, target: Path, on_step: OnStep = lambda: None) -> None:
    """Copy a SQLite file as it is at one moment; the copy is checked and synced. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as reader:
        # Within a transaction, commits of others don't start the copy again.
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        with closing(sqlite3.connect(target)) as writer:
            reader.backup(writer, pages=PAGES, progress=lambda status, left, total: on_step())
    check(target, on_step)
    sync(target)


def check(file: Path, on_step: OnStep = lambda: None) -> None:
    """Run SQLite's integrity check on a file that no process writes. Raises sqlite3.DatabaseError."""

    def step() -> bool:
        on_step()
        return False

    with closing(open_unused(file)) as connection:
        connection.set_progress_handler(step, CHECK_STEPS)
        try:
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.OperationalError:
            on_step()  # its error ended the check
            raise
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"malformed: {verdict}")


def contents(file: Path) -> Contents:
    """What a file that no process writes holds. Raises sqlite3.Error."""
    with closing(open_unused(file)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = sorted(name for name in names if name != "alembic_version" and not name.startswith("sqlite_"))
        rows = {name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}
        found = None
        if "alembic_version" in names:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return Contents(str(found[0]) if found else "", rows)


def open_unused(file: Path) -> sqlite3.Connection:
    """Open a file that no process writes, without creating a log beside it."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)


class Mending:
    """Reads the texts of a SQLite connection (its `text_factory`), and replaces the bytes in damaged ones that
    PostgreSQL can't store. `count` is the number of these texts."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, data: bytes) -> str:
        found = data.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
        if b"\0" in data or ("\N{REPLACEMENT CHARACTER}" in found and found.encode() != data):
            self.count += 1
        return found


def sync(file: Path) -> None:
    """Make a file's content survive a power failure."""
    with file.open("rb") as written:
        os.fsync(written.fileno())

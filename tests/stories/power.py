"""A simulated power cut: the process is killed, and what SQLite has not synced is lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from storage.database.sqlite import SqliteDatabase

_FULL = 2
"""The value of `PRAGMA synchronous` at which each commit is synced."""


class NotingDatabase(SqliteDatabase):
    """Records after each commit how long the write-ahead log is if SQLite has synced it."""

    def _transact(self, jobs: Sequence[Any]) -> list[Any]:
        results = super()._transact(jobs)
        with self._engine.connect() as connection:
            if connection.exec_driver_sql("PRAGMA synchronous").scalar_one() != _FULL:
                return results
        database = Path(self._engine.url.database or "")
        part = _record(database).with_suffix(".part")
        part.write_text(str(_log(database).stat().st_size))
        part.replace(_record(database))
        return results


CONSTANTS = {"storage.database.sqlite.SqliteDatabase": NotingDatabase}
"""For `BotProcess`, before `cut`."""


def cut(database: Path) -> None:
    """Drop what the killed process had written but not synced, and the log's index, which is only in memory."""
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
    log, record = _log(database), _record(database)
    if not log.exists():
        return
    synced = int(record.read_text()) if record.exists() else 0
    os.truncate(log, min(log.stat().st_size, synced))


def _log(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def _record(database: Path) -> Path:
    return database.with_name(f"{database.name}-synced")

"""A simulated power cut: the process is killed, and what SQLite has not synced is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection

from storage.database.async_engine import AsyncDatabase
from storage.database.sqlite import Result, SqliteDatabase, _Job

T = TypeVar("T")

_FULL = 2
"""The value of `PRAGMA synchronous` at which each commit is synced."""


class NotingDatabase(SqliteDatabase):
    """Records after each commit how long the write-ahead log is if SQLite has synced it."""

    def _transact(self, jobs: list[_Job]) -> list[Result]:
        results = super()._transact(jobs)
        with self._engine.connect() as connection:
            _note(connection, self._engine.url)
        return results


class NotingAsyncDatabase(AsyncDatabase):
    """The same for `sqlite+aiosqlite`."""

    async def _run(self, step: Callable[[Connection], T], begin: str, version: str = "") -> T:
        result = await super()._run(step, begin, version)
        async with self._lock, self._engine.connect() as connection:
            await connection.run_sync(_note, self._engine.url)
        return result


CONSTANTS = {
    "storage.database.sqlite.SqliteDatabase": NotingDatabase,
    "storage.database.async_engine.AsyncDatabase": NotingAsyncDatabase,
}
"""For `BotProcess`, before `cut`."""


def cut(database: Path) -> None:
    """Drop what the killed process had written but not synced, and the log's index, which is only in memory."""
    database.with_name(f"{database.name}-shm").unlink(missing_ok=True)
    log, record = _log(database), _record(database)
    if not log.exists():
        return
    synced = int(record.read_text()) if record.exists() else 0
    os.truncate(log, min(log.stat().st_size, synced))


def _note(connection: Connection, url: URL) -> None:
    """Record the log's length if the connection syncs its commits. No transaction may be open."""
    if connection.exec_driver_sql("PRAGMA synchronous").scalar_one() != _FULL:
        return
    database = Path(url.database or "")
    part = _record(database).with_suffix(".part")
    part.write_text(str(_log(database).stat().st_size))
    part.replace(_record(database))


def _log(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def _record(database: Path) -> Path:
    return database.with_name(f"{database.name}-synced")

"""Migrates a database to the current revision: backup first, then everything in one transaction."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from sqlalchemy import (
    URL,
    Column,
    Connection,
    MetaData,
    NullPool,
    String,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from routing.errors import ConfigError, NewerDatabase, NoDatabase
from storage.database import is_sqlite, parse_url, shown
from storage.database.faults import explain
from storage.database.sqlite_copy import copy
from storage.postgres_schema import statements
from storage.schema import REVISION, metadata

T = TypeVar("T")
SCRIPTS = Path(__file__).parents[2] / "migrations"
KEPT_BACKUPS = 5
MIN_FREE_BYTES = 16_000_000
MAX_CHECKED_BYTES = 64_000_000
LOCK = 8437624537
"""The advisory lock of migrations and moves on PostgreSQL. Any number that no other program locks."""
MOVING = "moving-"
"""How the revision of a database begins into which `tierbot migrate-to` has not moved everything yet."""

log = logging.getLogger(__name__)


def migrate(url: str, backups: Path) -> str | None:
    """Migrate the database to REVISION. Returns the previous revision, or None if it was already current.

    A SQLite database with data is first copied to `backups`; PostgreSQL has its own tools. Raises ConfigError when the
    database is newer than this program, damaged, locked or not writable.
    """
    parsed = parse_url(url)
    try:
        before = _run(parsed, _checked_revision if _may_be_damaged(parsed) else current_revision)
        if before and is_sqlite(parsed):
            _reclaim(Path(parsed.database or ""))
        if before == REVISION:
            return None
        refuse_newer(before)
        if before and is_sqlite(parsed):
            backup(Path(parsed.database or ""), backups, before)
        before = _run(parsed, _to_current)
        return None if before == REVISION else before or "an empty database"
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise explain(error, shown(parsed)) from error


def _to_current(connection: Connection) -> str:
    """Migrate to REVISION and return the previous revision. It is REVISION if another process was faster: one at a time
    gets here."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"select pg_advisory_xact_lock({LOCK})")
    before = current_revision(connection)
    refuse_newer(before)
    if not before:
        create_tables(connection)
    elif before != REVISION:
        _upgrade(connection)
    return before


def current_revision(connection: Connection) -> str:
    """The database's revision; empty for a new one."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return str(connection.execute(text("select version_num from alembic_version")).scalar_one_or_none() or "")


def require_current_revision(connection: Connection) -> None:
    """Raise ConfigError unless this version of the program wrote the database."""
    revision = current_revision(connection)
    if not revision:
        raise NoDatabase("The database is empty, and this needs its tables: start the bot once.")
    refuse_newer(revision)
    if revision != REVISION:
        raise ConfigError(
            f"The database is at revision {revision}, and this version of tierbot has {REVISION}: run "
            "`tierbot migrate` first, or use the version that wrote it. Nothing was changed."
        )


def _checked_revision(connection: Connection) -> str:
    """The revision. On SQLite, raises sqlite3.DatabaseError if a quick integrity check fails."""
    if connection.dialect.name == "sqlite":
        verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"malformed: {verdict}")
    return current_revision(connection)


def is_closed(path: Path) -> bool:
    """True if no process has a SQLite file open, and the last one closed it, because there is no write-ahead log.
    Opening such a file in the usual way would leave a log behind."""
    return not path.with_name(f"{path.name}-wal").exists()


def _may_be_damaged(url: URL) -> bool:
    """False for a large SQLite file that was closed properly: checking it takes about a second for each 300 MB.
    `doctor` always checks."""
    if not is_sqlite(url):
        return True
    path = Path(url.database or "")
    return not (path.is_file() and path.stat().st_size > MAX_CHECKED_BYTES and is_closed(path))


def backup(database: Path, folder: Path, revision: str) -> Path:
    """Write a consistent copy of a SQLite file, named by revision and time, and delete all but the newest copies.

    The copy gets its name after it is complete and checked. On failure, raises sqlite3.Error and leaves no copy.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for unfinished in folder.glob("tierbot-*.db.part"):
        unfinished.unlink()
    target = folder / f"tierbot-{revision}-{time.strftime('%Y%m%d-%H%M%S')}.db"
    part = target.with_name(f"{target.name}.part")
    try:
        copy(database, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    for old in sorted(folder.glob("tierbot-*.db"), key=lambda path: path.stat().st_mtime)[:-KEPT_BACKUPS]:
        old.unlink()
    return target


def _reclaim(database: Path) -> None:
    """Rewrite a SQLite file if more than half of it is free, and at least MIN_FREE_BYTES. Takes about a second for each
    100 MB of data, so it runs before the platforms start."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        page, pages, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
        )
        if free * page < MIN_FREE_BYTES or free * 2 < pages:
            return
        try:
            connection.execute("VACUUM")
        except sqlite3.Error as error:  # it needs as much space again
            log.warning("The database has %d MB of free space, but can't be rewritten: %s", free * page // 10**6, error)


def _run(url: URL, step: Callable[[Connection], str]) -> str:
    if is_sqlite(url):
        path = Path(url.database or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url.set(drivername="sqlite"), poolclass=NullPool, hide_parameters=True)
        event.listen(engine, "connect", _explicit_transactions)
        with engine.begin() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            return step(connection)
    return asyncio.run(on_server(url, step))


async def on_server(url: URL, step: Callable[[Connection], T]) -> T:
    """Run a step in one transaction of a database server, with a connection of its own."""
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(url, poolclass=NullPool, hide_parameters=True)
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(step)
    finally:
        await engine.dispose()


def _explicit_transactions(connection: sqlite3.Connection, _record: object) -> None:
    """Disable the driver's implicit transactions: they do not include DDL, so a kill could leave half a migration."""
    connection.isolation_level = None


def create_tables(connection: Connection) -> None:
    """Create the tables of an empty database without importing Alembic, which would take 0.3 s of the first start.

    A test compares the result with that of the migrations. Raises an error if a table already exists.
    """
    metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name == "postgresql":
        for statement in statements():
            connection.exec_driver_sql(statement)
    versions = Column("version_num", String(32), primary_key=True, nullable=False)
    table = Table("alembic_version", MetaData(naming_convention={"pk": "alembic_version_pkc"}), versions)
    table.create(connection)
    connection.execute(insert(table), {"version_num": REVISION})


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def known_revisions() -> frozenset[str]:
    """Every revision in the migrations folder."""
    return frozenset(path.name.split("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))


def refuse_newer(revision: str) -> None:
    """Raise ConfigError for a revision that this version does not know."""
    if revision.startswith(MOVING):
        raise ConfigError(
            "The database is incomplete, because a move into it was interrupted: run the same `tierbot migrate-to` "
            "again, with the old DATABASE_URL. Nothing was changed."
        )
    if revision and revision not in known_revisions():
        raise NewerDatabase(
            f"The database is at revision {revision}, which this version of tierbot does not know: "
            "install the version that wrote it, or restore a backup from the backups folder (nothing was changed)."
        )

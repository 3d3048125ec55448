"""Moves all rows of a database into another one: in batches, so that a killed move goes on, and compared at the end.

Until everything agrees, the revision of the new database is a mark, so that no bot starts on it. The mark names the old
database and the digest of its content: with the same mark, the rows that are there are the first ones of each table.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    ExceptionContext,
    Integer,
    NullPool,
    Table,
    create_engine,
    event,
    insert,
    text,
)
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.util import greenlet_spawn

from routing.errors import ConfigError, NoDatabase
from storage.database import is_sqlite, parse_url
from storage.database.faults import driver_message
from storage.database.migrate import (
    LOCK,
    MOVING,
    create_tables,
    current_revision,
    refuse_newer,
    require_current_revision,
)
from storage.database.sqlite import BUSY_TIMEOUT_MS, prepare
from storage.database.sqlite_copy import Mending
from storage.database.tables import batches, count_rows, has_rows, last_ids, own_tables, set_last_ids
from storage.schema import REVISION, metadata

CONNECT_SECONDS = 10.0
"""Maximum wait for a server's first answer, and for another move or migration."""
_MAX_INTEGER = 2**31 - 1
_REMEDIES = {
    "28P01": "check the user and the password in its address (%40 stands for an @ in the password)",
    "28000": "check the user in its address, and whether the server lets it in from here",
    "3D000": "create it first, for example with createdb",
    "42501": "its user must be allowed to create tables: GRANT CREATE ON SCHEMA public TO the user",
    "53100": "its disk is full; free some space there",
    "53300": "it has no connection left; close other programs",
    "55P03": "another move or migration uses it; wait until that is done",
    "database or disk is full": "its disk is full; free some space there",
    "locked": "another program uses it; stop that",
    "not a database": "it is damaged, or no database of SQLite; choose another file",
    "malformed": "it is damaged",
    "unable to open": "make its folder writable for this user",
    "readonly": "make it writable for this user",
}
"""What to do, by PostgreSQL's error code or SQLite's words."""
_UNREACHABLE = "check that the server runs, and that host and port in its address are right"
_AS_IT_WAS = "The old database is as it was, and the bot still uses it."

Say = Callable[[str], object]
OnStep = Callable[[str, str, int, int], object]
"""Called often: what is done, with which table, and how many of how many rows are done."""
_Sum = tuple[int, int]
"""A table's number of rows, and the sum of their digests, which does not depend on their order."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What the new database holds. `mended` has the number of damaged texts by table."""

    rows: int
    tables: int
    mended: Mapping[str, int]


def transfer(source: str, target: str, say: Say, on_step: OnStep) -> Moved:
    """Move everything from one database to another; the old one stays as it is. If it was interrupted, it goes on.
    Raises ConfigError."""
    old, new = parse_url(source), parse_url(target)
    if is_sqlite(old) and not Path(old.database or "").is_file():
        raise NoDatabase(f"There is no database at {old.database}, so there is nothing to move. Nothing was changed.")
    try:
        return asyncio.run(_transfer(old, new, say, on_step))
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        words = driver_message(error) or "no answer"
        raise ConfigError(f"The move stopped ({words}): run the same command again. {_AS_IT_WAS}") from error


def require_unused(url: str) -> None:
    """Raise ConfigError if a bot uses a PostgreSQL database."""
    parsed = parse_url(url)
    if not is_sqlite(parsed):
        asyncio.run(_require_unused(parsed))


async def _require_unused(url: URL) -> None:
    async with _opened(url, Mending()) as connection:
        await greenlet_spawn(own_tables, connection)


async def _transfer(old: URL, new: URL, say: Say, on_step: OnStep) -> Moved:
    texts = Mending()
    with _without_new_file(new) as started:
        async with _opened(old, texts) as reader, _opened(new, Mending(), writes=True) as writer:
            where = old.render_as_string(hide_password=True)
            return await greenlet_spawn(_Transfer(reader, writer, texts, say, on_step).run, where, started)


class _Transfer:
    def __init__(self, reader: Connection, writer: Connection, texts: Mending, say: Say, on_step: OnStep) -> None:
        self._reader = reader
        self._writer = writer
        self._texts = texts
        self._say = say
        self._on_step = on_step
        self._strict = _is_server(writer) and not _is_server(reader)
        """SQLite stores values that don't fit their column."""
        self._mended: dict[str, int] = {}

    def run(self, where: str, started: Callable[[], object]) -> Moved:
        """`where` is the old database; `started` is called before anything is written."""
        self._begin_reading()
        self._lock_target()
        sums = {table.name: self._sum_source(table) for table in metadata.sorted_tables}
        last = last_ids(self._reader)
        ours = f"{MOVING}{_hash(where, 4)}-"
        started()
        unfinished = self._prepare(ours, ours + _hash(f"{REVISION} {sums}", 8))
        if unfinished:
            for table in metadata.sorted_tables:
                self._copy(table, sums[table.name][0], ours)
        self._compare(sums, ours, unfinished)
        if unfinished:
            with _transaction(self._writer):
                set_last_ids(self._writer, last)
                self._set_revision(REVISION)
        return Moved(sum(rows for rows, _ in sums.values()), len(sums), self._mended)

    def _begin_reading(self) -> None:
        """The old database can't change while the transaction lasts, or its changes are not seen."""
        if _is_server(self._reader):
            self._reader.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            own_tables(self._reader)
        else:
            self._reader.exec_driver_sql("BEGIN IMMEDIATE")
        require_current_revision(self._reader)

    def _lock_target(self) -> None:
        """Look at the new database, so that a wrong one is refused at once."""
        with _transaction(self._writer):
            own_tables(self._writer)
            if _is_server(self._writer):
                encoding = self._writer.exec_driver_sql("show server_encoding").scalar_one()
                if encoding != "UTF8":
                    raise ConfigError(
                        f"The database {_where(self._writer)} has the encoding {encoding}, which can't hold every "
                        "text: create one with the encoding UTF8. Nothing was changed."
                    )
                self._writer.exec_driver_sql(f"set lock_timeout = '{CONNECT_SECONDS}s'")
                self._writer.exec_driver_sql(f"select pg_advisory_lock({LOCK})")

    def _sum_source(self, table: Table) -> _Sum:
        before = self._texts.count
        found = self._sum(self._reader, table, "Reading", check=self._strict)
        if self._texts.count > before:
            self._mended[table.name] = self._texts.count - before
        return found

    def _sum(self, connection: Connection, table: Table, doing: str, check: bool = False) -> _Sum:
        rows = digests = 0
        for batch in batches(connection, table):
            for row in batch:
                if check:
                    _refuse_misfit(table, row)
                digests += _digest(row)
            rows += len(batch)
            self._on_step(doing, table.name, rows, 0)
        return rows, digests % 2**128

    def _prepare(self, ours: str, mark: str) -> bool:
        """Create the tables, or keep those of an interrupted move. False if everything is there: an earlier one may
        have been killed after its end."""
        with _transaction(self._writer):
            names = own_tables(self._writer)
            revision = current_revision(self._writer) if names else ""
            if revision == mark:
                self._say("Going on where the last move stopped.")
                return True
            if revision.startswith(ours):
                self._say("What the last move left there no longer fits the old database: starting again.")
                for name in sorted(names, key=_drop_order):
                    self._writer.exec_driver_sql(f'drop table "{name}"')
                names = []
            if not names:
                create_tables(self._writer)
            elif revision.startswith(MOVING):
                raise self._refused("holds what was moved from another bot's database")
            else:
                refuse_newer(revision)
                if revision != REVISION:
                    raise self._refused(f"holds tables of an older tierbot (revision {revision})")
                if has_rows(self._writer):
                    return False
                self._writer.exec_driver_sql("delete from state")  # of processes that ended
            self._set_revision(mark)
        return True

    def _copy(self, table: Table, total: int, ours: str) -> None:
        with _transaction(self._writer):
            done = count_rows(self._writer, table)
        try:
            for batch in batches(self._reader, table, skip=done):
                with _transaction(self._writer):
                    self._writer.execute(insert(table), batch)
                done += len(batch)
                self._on_step("Copying", table.name, min(done, total), total)
        except (DataError, IntegrityError) as error:
            self._begin_again_next_time(ours)
            raise ConfigError(
                f"The table {table.name} can't be stored in {_where(self._writer)} ({driver_message(error)}). If "
                "something else wrote there, run the same command again, which starts from the beginning. "
                f"{_AS_IT_WAS}"
            ) from error

    def _compare(self, sums: Mapping[str, _Sum], ours: str, unfinished: bool) -> None:
        """Raise ConfigError unless every table of the new database has the rows of the old one."""
        with _transaction(self._writer):
            tables = metadata.sorted_tables
            wrong = [each.name for each in tables if self._sum(self._writer, each, "Comparing") != sums[each.name]]
        if wrong and not unfinished:
            raise self._refused("holds the data of a bot already")
        if wrong:
            self._begin_again_next_time(ours)
            raise ConfigError(
                f"The new database differs from the old one in {', '.join(wrong)}: something else wrote into it. Run "
                f"the same command again, which starts from the beginning. {_AS_IT_WAS}"
            )

    def _begin_again_next_time(self, ours: str) -> None:
        with _transaction(self._writer):
            self._set_revision(ours)

    def _set_revision(self, revision: str) -> None:
        self._writer.execute(text("update alembic_version set version_num = :revision"), {"revision": revision})

    def _refused(self, reason: str) -> ConfigError:
        aside = "choose an empty database" if _is_server(self._writer) else "choose another file, or rename this one"
        return ConfigError(f"The database {_where(self._writer)} {reason}: {aside}. Nothing was changed.")


@contextmanager
def _without_new_file(url: URL) -> Iterator[Callable[[], object]]:
    """Create a SQLite file that only this user can read. Unless the block calls what it gets, a new one goes again if
    it fails."""
    kept: list[bool] = []
    if not is_sqlite(url):
        yield lambda: kept.append(True)
        return
    path = Path(url.database or "")
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    try:
        yield lambda: kept.append(True)
    finally:
        if new and not kept:
            for ending in ("", "-wal", "-shm"):
                path.with_name(f"{path.name}{ending}").unlink(missing_ok=True)


@asynccontextmanager
async def _opened(url: URL, texts: Mending, writes: bool = False) -> AsyncIterator[Connection]:
    """A connection; ConfigErrors say what is wrong with this database."""
    where = url.render_as_string(hide_password=True)
    explained = partial(_explained, where)
    if is_sqlite(url):
        engine = create_engine(url.set(drivername="sqlite"), poolclass=NullPool, hide_parameters=True)
        event.listen(engine, "handle_error", explained)
        event.listen(engine, "connect", partial(_set_up, texts, writes))
        try:
            opened_file = engine.connect()
        except sqlite3.Error as error:
            raise _explain(error, where) from error
        with opened_file:
            yield opened_file
        return
    from sqlalchemy.ext.asyncio import create_async_engine

    server = create_async_engine(
        url, poolclass=NullPool, hide_parameters=True, connect_args={"timeout": CONNECT_SECONDS}
    )
    event.listen(server.sync_engine, "handle_error", explained)
    try:
        opened = await server.connect()
    except OSError as error:
        raise _explain(error, where) from error
    try:
        assert opened.sync_connection is not None
        yield opened.sync_connection
    finally:
        await opened.close()


def _set_up(texts: Mending, writes: bool, connection: sqlite3.Connection, record: object) -> None:
    connection.text_factory = texts
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    if writes:
        prepare(connection, record)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    with connection.begin():
        if not _is_server(connection):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield


def _is_server(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _where(connection: Connection) -> str:
    return connection.engine.url.render_as_string(hide_password=True)


def _drop_order(name: str) -> int:
    """Tables that refer to others come first."""
    order = [table.name for table in metadata.sorted_tables]
    return -order.index(name) if name in order else 1


def _hash(words: str, size: int) -> str:
    return hashlib.blake2b(words.encode(), digest_size=size).hexdigest()


def _digest(row: Mapping[str, Any]) -> int:
    """The same for equal rows of SQLite and PostgreSQL. SQLite stores -0.0 as 0."""
    values = [each or 0.0 if isinstance(each, float) else each for each in row.values()]
    words = json.dumps(values, default=bytes.hex)
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=16).digest())


def _refuse_misfit(table: Table, row: Mapping[str, Any]) -> None:
    """Raise ConfigError for a row that PostgreSQL can't store."""
    for column, value in zip(table.c, row.values(), strict=True):
        reason = _misfit(column, value)
        if reason:
            key = ", ".join(f"{each.name} {row[each.name]}" for each in table.primary_key)
            raise ConfigError(
                f"PostgreSQL can't store a row of the table {table.name} ({key}): {column.name} {reason}. Change or "
                "delete that row in the old database, and run this again. Nothing was changed."
            )


def _misfit(column: Column[Any], value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, column.type.python_type):
        return f"is no {column.type.python_type.__name__}"
    length = getattr(column.type, "length", None)
    if isinstance(value, str) and length is not None and len(value) > length:
        return f"has {len(value):,} characters, and at most {length:,} fit"
    small = isinstance(column.type, Integer) and not isinstance(column.type, BigInteger)
    if small and isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return f"is larger than {_MAX_INTEGER:,}"
    return ""


def _explained(where: str, context: ExceptionContext) -> ConfigError | None:
    """Values that don't fit belong to a table, not to the database."""
    if isinstance(context.sqlalchemy_exception, (DataError, IntegrityError)):
        return None
    return _explain(context.original_exception, where)


def _explain(error: BaseException, where: str) -> ConfigError:
    words = driver_message(error) or f"no answer within {CONNECT_SECONDS:.0f} seconds"
    code = getattr(error, "sqlstate", None)
    fix = _REMEDIES.get(code or "") or next((fix for known, fix in _REMEDIES.items() if known in words), "")
    if not fix:
        fix = _UNREACHABLE if isinstance(error, OSError) or code is None else "ask whoever runs that server"
    return ConfigError(
        f"The database {where} can't be used ({words}): {fix}. Then run the same command again. {_AS_IT_WAS}"
    )

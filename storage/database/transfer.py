"""Moves all rows of a database into another one: in batches, so that a killed move goes on, and compared at the end.

Until everything agrees, the revision of the new database is a mark, so that no bot starts on it. The mark names the old
database and the digest of its content: with the same mark, the rows that are there are the first ones of each table.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, BigInteger, Column, Connection, Integer, Table, insert, text
from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError
from sqlalchemy.util import await_only, greenlet_spawn

from routing.errors import ConfigError
from storage.database import parse_url
from storage.database.connection import (
    AS_IT_WAS,
    CONNECT_SECONDS,
    address,
    connected,
    is_server,
    new_file,
    transaction,
)
from storage.database.faults import driver_message
from storage.database.migrate import (
    LOCK,
    MOVING,
    create_tables,
    current_revision,
    refuse_newer,
    require_current_revision,
)
from storage.database.sqlite_copy import Mending
from storage.database.tables import batches, count_rows, has_rows, last_ids, own_tables, set_last_ids
from storage.schema import REVISION, metadata

_MAX_INTEGER = 2**31 - 1

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
    try:
        return asyncio.run(_transfer(old, new, say, on_step))
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        words = driver_message(error) or "no answer"
        raise ConfigError(f"The move stopped ({words}): run the same command again. {AS_IT_WAS}") from error


async def _transfer(old: URL, new: URL, say: Say, on_step: OnStep) -> Moved:
    texts = Mending()

    def step(doing: str, table: str, done: int, total: int) -> None:
        await_only(asyncio.sleep(0))  # raises CancelledError after Ctrl-C, also if both are SQLite
        on_step(doing, table, done, total)

    with new_file(new) as started:
        async with connected(old, texts) as reader, connected(new, Mending(), writes=True) as writer:
            return await greenlet_spawn(_Transfer(reader, writer, texts, say, step).run, started)


class _Transfer:
    def __init__(self, reader: Connection, writer: Connection, texts: Mending, say: Say, on_step: OnStep) -> None:
        self._reader = reader
        self._writer = writer
        self._texts = texts
        self._say = say
        self._on_step = on_step
        self._strict = is_server(writer) and not is_server(reader)
        """SQLite stores values that don't fit their column."""
        self._mended: dict[str, int] = {}

    def run(self, started: Callable[[], object]) -> Moved:
        """`started` is called before anything is written."""
        self._begin_reading()
        self._lock_target()
        sums = {table.name: self._sum_source(table) for table in metadata.sorted_tables}
        ours = f"{MOVING}{_hash(address(self._reader), 4)}-"
        started()
        unfinished = self._prepare(ours, ours + _hash(f"{REVISION} {sums}", 8))
        if unfinished:
            for table in metadata.sorted_tables:
                self._copy(table, sums[table.name][0], ours)
        self._compare(sums, ours, unfinished)
        with transaction(self._writer):
            set_last_ids(self._writer, last_ids(self._reader))
            self._set_revision(REVISION)
        return Moved(sum(rows for rows, _ in sums.values()), len(sums), self._mended)

    def _begin_reading(self) -> None:
        """Until the transaction ends, no bot changes the old database, and no change of another program is seen."""
        read = self._reader.exec_driver_sql
        if is_server(self._reader):
            with transaction(self._reader):
                require_current_revision(self._reader)
            read("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            read(f"SET LOCAL lock_timeout = '{CONNECT_SECONDS}s'")
            read("LOCK TABLE processes IN SHARE MODE")  # a bot that starts writes a row there first
            own_tables(self._reader)
            return
        read("BEGIN IMMEDIATE")
        require_current_revision(self._reader)
        verdict = " ".join(read("PRAGMA integrity_check(1)").scalar_one().split())
        if verdict != "ok":  # such as rows that are missing in an index, and would not be read
            where = address(self._reader)
            raise ConfigError(f"The database {where} is damaged ({verdict}): restore a backup. Nothing was changed.")

    def _lock_target(self) -> None:
        """Look at the new database, so that a wrong one is refused at once."""
        with transaction(self._writer):
            own_tables(self._writer)
            if not is_server(self._writer):
                return
            write = self._writer.exec_driver_sql
            encoding = write("show server_encoding").scalar_one()
            if encoding != "UTF8":
                raise ConfigError(
                    f"The database {address(self._writer)} has the encoding {encoding}, which can't hold every "
                    "text: create one with the encoding UTF8. Nothing was changed."
                )
            write(f"set lock_timeout = '{CONNECT_SECONDS}s'")
            write(f"select pg_advisory_lock({LOCK})")
        again = f"select pg_try_advisory_xact_lock({LOCK})"
        if is_server(self._reader) and not self._reader.exec_driver_sql(again).scalar_one():
            raise ConfigError(
                f"{address(self._reader)} and {address(self._writer)} are the same database, or another move or "
                "migration uses the first one. Nothing was changed."
            )

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
        with transaction(self._writer):
            names = own_tables(self._writer)
            revision = current_revision(self._writer) if names else ""
            if revision == mark:
                self._say("Continuing where the last move stopped.")
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
        with transaction(self._writer):
            done = count_rows(self._writer, table)
        try:
            for batch in batches(self._reader, table, skip=done):
                with transaction(self._writer):
                    self._writer.execute(insert(table), batch)
                done += len(batch)
                self._on_step("Copying", table.name, min(done, total), total)
        except (DataError, IntegrityError) as error:
            self._begin_again_next_time(ours)
            raise ConfigError(
                f"The table {table.name} can't be stored in {address(self._writer)} ({driver_message(error)}). If "
                "something else wrote there, run the same command again, which starts from the beginning. "
                f"{AS_IT_WAS}"
            ) from error

    def _compare(self, sums: Mapping[str, _Sum], ours: str, unfinished: bool) -> None:
        """Raise ConfigError unless every table of the new database has the rows of the old one."""
        with transaction(self._writer):
            tables = metadata.sorted_tables
            wrong = [each.name for each in tables if self._sum(self._writer, each, "Comparing") != sums[each.name]]
        if wrong and not unfinished:
            raise self._refused("holds the data of a bot already")
        if wrong:
            self._begin_again_next_time(ours)
            raise ConfigError(
                f"The new database differs from the old one in {', '.join(wrong)}: something else wrote into it. Run "
                f"the same command again, which starts from the beginning. {AS_IT_WAS}"
            )

    def _begin_again_next_time(self, ours: str) -> None:
        with transaction(self._writer):
            self._set_revision(ours)

    def _set_revision(self, revision: str) -> None:
        self._writer.execute(text("update alembic_version set version_num = :revision"), {"revision": revision})

    def _refused(self, reason: str) -> ConfigError:
        aside = "choose an empty database" if is_server(self._writer) else "choose another file, or rename this one"
        return ConfigError(f"The database {address(self._writer)} {reason}: {aside}. Nothing was changed.")


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
        return f"is not of type {column.type.python_type.__name__}"
    length = getattr(column.type, "length", None)
    if isinstance(value, str) and length is not None and len(value) > length:
        return f"has {len(value):,} characters, and at most {length:,} fit"
    small = isinstance(column.type, Integer) and not isinstance(column.type, BigInteger)
    if small and isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return f"is larger than {_MAX_INTEGER:,}"
    return ""

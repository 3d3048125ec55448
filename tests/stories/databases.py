"""A bot's database as a story sees it: SQLite's file, or a database of the PostgreSQL server."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

from blockbuster.blockbuster import _skip
from sqlalchemy import Connection, make_url

from storage.database import open_database
from storage.postgres_schema import CHANGED
from storage.schema import metadata
from tests.postgres import ON_POSTGRES, Server, servers

T = TypeVar("T")
Rows = list[tuple[object, ...]]
Ask = Callable[..., list[tuple[Any, ...]]]
"""Takes a query and its values, one for each question mark."""
DRIVERS = ("postgresql+asyncpg",) * 2 if ON_POSTGRES else ("sqlite", "sqlite+aiosqlite")
"""Of two bots that share a story."""
STORY = "story"
"""In place of a table, in the notification that follows each change."""
LOCK_TIMEOUT = "5s"
"""Afterwards a change fails: the bot can't end its transaction while the story waits."""


@contextmanager
def unwatched() -> Iterator[None]:
    """Lets a test block the event loop without a look at its stack, which takes longer than a query."""
    before, _skip.value = _skip.value, True
    try:
        yield
    finally:
        _skip.value = before


class StoryDatabase(Protocol):
    url: str
    """For DATABASE_URL; empty for the default."""

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """A connection other than the bot's, for queries."""

    def change(self, statement: str, *values: object) -> None:
        """Changes rows as another process would."""

    def content(self) -> bytes:
        """All data; of SQLite also what was deleted."""

    def intact(self) -> bool: ...

    def close(self) -> None: ...


def story_database(workspace: Path) -> StoryDatabase:
    """The kind that TIERBOT_DATABASE names. On PostgreSQL it has our tables already."""
    return ServerDatabase(servers[0]) if ON_POSTGRES else SqliteFile(workspace / "tierbot.db")


class SqliteFile:
    def __init__(self, path: Path) -> None:
        self.url = ""
        self.path = path

    @contextmanager
    def open(self) -> Iterator[Ask]:
        with closing(sqlite3.connect(self.path)) as connection:

            def ask(question: str, *values: object) -> Rows:
                with unwatched():
                    return connection.execute(question, values).fetchall()

            yield ask

    def change(self, statement: str, *values: object) -> None:
        with sqlite3.connect(self.path) as connection:
            connection.execute(statement, values)

    def content(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.path.parent.glob(f"{self.path.name}*"))

    def intact(self) -> bool:
        with self.open() as ask:
            return ask("PRAGMA integrity_check") == [("ok",)]

    def close(self) -> None:
        """Leaves the file to the workspace."""


class ServerDatabase:
    """Uses an event loop in a thread of its own, because the story's waits meanwhile."""

    def __init__(self, server: Server) -> None:
        self.url = server.copy()
        self._server = server
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()
        self._connection: Any = None
        self._other = open_database(self.url)

    @contextmanager
    def open(self) -> Iterator[Ask]:
        yield lambda question, *values: self._run(self._rows, question, values)

    def change(self, statement: str, *values: object) -> None:
        self._run(self._change, statement, values)

    def content(self) -> bytes:
        with self.open() as ask:
            return str(tables(ask)).encode()

    def intact(self) -> bool:
        """Whether it answers. A killed client can't damage it."""
        with self.open() as ask:
            return ask("select 1") == [(1,)]

    def close(self) -> None:
        self._run(self._close)
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()
        self._server.drop(self.url)

    async def _rows(self, question: str, values: tuple[object, ...]) -> Rows:
        """As SQLite would return them: PostgreSQL's sum of integers is a Decimal."""
        if self._connection is None:
            from asyncpg import connect

            name = make_url(self.url).database
            where = {"host": str(self._server.folder), "user": "postgres", "database": name}
            self._connection = await connect(**where, statement_cache_size=0)
        found = await self._connection.fetch(_numbered(question), *values)
        return [tuple(int(each) if isinstance(each, Decimal) else each for each in row) for row in found]

    async def _change(self, statement: str, values: tuple[object, ...]) -> None:
        def step(connection: Connection) -> None:
            connection.exec_driver_sql(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
            connection.exec_driver_sql(_numbered(statement), values)
            connection.exec_driver_sql(f"select pg_notify('{CHANGED}', '{STORY} ')")

        await self._other.write(step)

    async def _close(self) -> None:
        await self._other.close()
        if self._connection is not None:
            self._connection.terminate()  # the server may have been restarted

    def _run(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        def run() -> T:
            with unwatched():
                return self._runner.run(function(*arguments))

        with unwatched():
            return self._thread.submit(run).result()


def _numbered(statement: str) -> str:
    """With PostgreSQL's placeholders instead of question marks."""
    numbers = count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", statement)


def tables(ask: Ask) -> dict[str, Rows]:
    """All rows of our tables, ordered by their keys."""
    return {
        name: ask(f'select * from "{name}" order by {", ".join(column.name for column in table.primary_key)}')
        for name, table in metadata.tables.items()
    }

"""Copies of a running database, and their way into PostgreSQL and back: row by row identical."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, func, insert, select, update

from routing.errors import ConfigError
from routing.types.lease import Lease
from storage.claims import open_claims
from storage.database import Database, open_database
from storage.database.server_restore import load, loaded
from storage.database.snapshot import snapshot
from storage.database.sqlite_copy import contents, copy
from storage.schema import REVISION, metadata, people, state
from tests.postgres import Server
from tests.storage.every_table import everything, fill, row

ASIDE = "before_20261128"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    database = open_database(url)
    yield database
    await database.close()


async def rows_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    async with opened(url) as database:
        return await database.read(everything)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.database.tables.ROWS", 4)


async def test_a_copy_has_the_same_rows(database: Database, database_url: str, tmp_path: Path) -> None:
    await database.write(lambda c: fill(c, 9))
    made = await asyncio.to_thread(snapshot, database_url, tmp_path / "copy.db")
    assert made.revision == REVISION
    assert made.rows == dict.fromkeys(metadata.tables, 9)
    assert made == contents(tmp_path / "copy.db")
    assert await rows_of(f"sqlite:///{tmp_path / 'copy.db'}") == await database.read(everything)


async def test_ids_of_deleted_rows_are_not_used_again(database: Database, database_url: str, tmp_path: Path) -> None:
    for _ in range(5):
        await database.write(_add_person)
    await database.write(lambda c: c.execute(delete(people).where(people.c.id > 2)))
    await asyncio.to_thread(snapshot, database_url, tmp_path / "copy.db")
    async with opened(f"sqlite:///{tmp_path / 'copy.db'}") as again:
        assert await again.write(_add_person) == await database.write(_add_person)


def _add_person(connection: Connection) -> int:
    values = row(people, 0, "New")
    del values["id"]
    added = connection.execute(insert(people), values).inserted_primary_key
    assert added is not None
    return int(added[0])


async def test_a_copy_is_of_one_moment_while_others_write(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """Each transaction moves a coin between two purses; every copy holds all of them."""
    await database.write(
        lambda c: c.execute(insert(state), [{"key": "a", "value": "9999"}, {"key": "b", "value": "0"}])
    )

    def move(connection: Connection) -> None:
        for key, step in (("a", -1), ("b", 1)):
            coins = int(connection.execute(select(state.c.value).where(state.c.key == key)).scalar_one())
            connection.execute(update(state).where(state.c.key == key).values(value=str(coins + step)))
        connection.execute(insert(people), {"name": "x" * 190, "role": "user", "created_at": 0.0})

    done = asyncio.Event()

    async def keep_moving() -> int:
        moves = 0
        while not done.is_set():
            await database.write(move)
            moves += 1
        return moves

    moving = asyncio.create_task(keep_moving())
    moved: set[int] = set()
    for number in count():
        if number >= 5 and len(moved) > 1:  # on a busy machine the first copies may be faster than the first write
            break
        target = tmp_path / f"{number}.db"
        await asyncio.to_thread(snapshot, database_url, target)
        with sqlite3.connect(f"file:{target}?immutable=1", uri=True) as copied:
            a, b = (
                int(value)
                for (value,) in copied.execute("select value from state where key in ('a', 'b') order by key")
            )
            (added,) = copied.execute("select count(*) from people").fetchone()
        assert (a + b, b) == (9999, added)
        moved.add(b)
    done.set()
    assert await moving >= max(moved)


def test_a_copy_stops_between_two_steps(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table large (x)")
        connection.execute("insert into large values (zeroblob(40000000))")

    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        copy(tmp_path / "a.db", tmp_path / "b.db", stop)


def test_without_a_database_there_is_no_copy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a backup needs"):
        snapshot(f"sqlite:///{tmp_path / 'none.db'}", tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


async def test_a_damaged_database_leaves_no_copy(database_url: str, tmp_path: Path) -> None:
    if not database_url.startswith("sqlite"):
        return
    path = tmp_path / "tierbot.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    with pytest.raises(ConfigError, match="damaged"):
        await asyncio.to_thread(snapshot, database_url, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


@pytest.fixture
async def filled(sqlite_template: Path, tmp_path: Path) -> Path:
    """A copy with 9 rows in every table."""
    path = tmp_path / "filled.db"
    copy(sqlite_template, path)
    async with opened(f"sqlite:///{path}") as database:
        await database.write(lambda c: fill(c, 9))
        await database.write(lambda c: c.execute(delete(people).where(people.c.id == 9)))
    return path


@pytest.mark.system
class TestPostgres:
    async def test_a_copy_returns_from_postgres_row_by_row(
        self, filled: Path, postgres: Server, tmp_path: Path
    ) -> None:
        url = postgres.url("empty1")
        postgres.sql("create database empty1")
        assert await asyncio.to_thread(load, url, filled, ASIDE, "m1") is False
        assert await asyncio.to_thread(loaded, url) == "m1"
        assert await rows_of(url) == await rows_of(f"sqlite:///{filled}")
        await asyncio.to_thread(snapshot, url, tmp_path / "back.db")
        assert await rows_of(f"sqlite:///{tmp_path / 'back.db'}") == await rows_of(f"sqlite:///{filled}")
        async with opened(url) as database:
            assert await database.write(_add_person) == 10

    async def test_what_was_there_is_kept_in_a_schema(self, filled: Path, postgres: Server) -> None:
        url = postgres.copy()
        async with opened(url) as database:
            await database.write(_add_person)
        assert await asyncio.to_thread(load, url, filled, ASIDE, "m") is True

        def counts(connection: Connection) -> list[int]:
            kept = connection.exec_driver_sql(f"select count(*) from {ASIDE}.people").scalar_one()
            return [kept, connection.execute(select(func.count()).select_from(people)).scalar_one()]

        async with opened(url) as database:
            assert await database.read(counts) == [1, 8]

    async def test_another_programs_database_is_left_alone(self, filled: Path, postgres: Server) -> None:
        postgres.sql("create database theirs")
        url = postgres.url("theirs")
        postgres.run(
            "psql", "-h", str(postgres.folder), "-U", "postgres", "-d", "theirs", "-qc", "create table t (x int)"
        )
        with pytest.raises(ConfigError, match="another program"):
            await asyncio.to_thread(load, url, filled, ASIDE, "m")
        assert await asyncio.to_thread(loaded, url) == ""

    async def test_a_running_bots_database_is_left_alone(self, filled: Path, postgres: Server) -> None:
        url = postgres.copy()
        async with opened(url) as database:
            await database.write(_add_person)
            await open_claims(database, Lease()).register("bot", True)
            with pytest.raises(ConfigError, match="running tierbot"):
                await asyncio.to_thread(load, url, filled, ASIDE, "m")
            assert await database.read(lambda c: c.execute(select(func.count()).select_from(people)).scalar_one()) == 1

    async def test_a_row_that_does_not_fit_changes_nothing(self, filled: Path, postgres: Server) -> None:
        with sqlite3.connect(filled) as connection:
            connection.execute("update people set role = 'a role of more than 16 characters' where id = 7")
        connection.close()
        url = postgres.copy()
        with pytest.raises(ConfigError, match="The table people can't be restored"):
            await asyncio.to_thread(load, url, filled, ASIDE, "m")
        assert await rows_of(url) == {name: [] for name in metadata.tables}

    async def test_texts_that_postgres_can_not_store_are_mended(self, filled: Path, postgres: Server) -> None:
        with sqlite3.connect(filled) as connection:
            connection.execute("update inbox set payload = cast(x'61ff0062' as text) where id = 7")
        connection.close()
        url = postgres.copy()
        await asyncio.to_thread(load, url, filled, ASIDE, "m")
        async with opened(url) as database:
            mended = "select payload from inbox where id = 7"
            assert await database.read(lambda c: c.exec_driver_sql(mended).scalar_one()) == "a��b"

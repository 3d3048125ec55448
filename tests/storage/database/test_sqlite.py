"""Steps that wait together share a commit, and one that fails does not affect the others."""

import asyncio
import itertools
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, event, insert, select
from sqlalchemy.exc import IntegrityError

from storage.database.migrate import migrate
from storage.database.sqlite import MAX_LOG_BYTES, SqliteDatabase
from storage.schema import metadata, state


def put(key: str) -> Callable[[Connection], None]:
    def step(connection: Connection) -> None:
        connection.execute(insert(state).values(key=key, value=""))

    return step


async def opened(tmp_path: Path) -> tuple[SqliteDatabase, list[str]]:
    database = SqliteDatabase(f"sqlite:///{tmp_path / 'x.db'}")
    await database.write(metadata.create_all)
    commits: list[str] = []
    event.listen(database._engine, "commit", lambda _: commits.append("commit"))
    return database, commits


async def keys(database: SqliteDatabase) -> list[str]:
    return sorted(await database.read(lambda c: list(c.execute(select(state.c.key)).scalars())))


async def test_waiting_steps_share_a_commit(tmp_path: Path) -> None:
    database, commits = await opened(tmp_path)
    await asyncio.gather(*(database.write(put(str(n))) for n in range(20)))
    assert len(await keys(database)) == 20
    assert len(commits) <= 4, "one for the first, one for those that waited behind it, and one for the reads"
    await database.close()


async def test_steps_that_arrive_before_the_thread_begins_share_its_commit(tmp_path: Path) -> None:
    database, commits = await opened(tmp_path)
    may_begin = threading.Event()
    database._thread.submit(may_begin.wait)
    steps = []
    for number in range(20):
        steps.append(asyncio.create_task(database.write(put(str(number)), urgent=number != 1)))
        await asyncio.sleep(0)
    may_begin.set()
    await asyncio.gather(*steps)
    assert len(commits) == 1
    async with asyncio.timeout(60.0):
        await database.write(put("later"), urgent=False)
    assert len(commits) == 2
    await database.close()


async def test_a_step_that_fails_undoes_only_itself(tmp_path: Path) -> None:
    database, _ = await opened(tmp_path)

    def half_done(connection: Connection) -> None:
        connection.execute(insert(state).values(key="half", value=""))
        connection.execute(insert(state).values(key="twice", value=""))

    steps = [put("first"), put("twice"), half_done, put("last")]
    results = await asyncio.gather(*map(database.write, steps), return_exceptions=True)
    assert [type(each) for each in results if isinstance(each, BaseException)] == [IntegrityError]
    assert await keys(database) == ["first", "last", "twice"]
    await database.close()


async def test_an_exception_in_a_step_reaches_only_its_caller(tmp_path: Path) -> None:
    database, _ = await opened(tmp_path)

    def broken(connection: Connection) -> None:
        connection.execute(insert(state).values(key="broken", value=""))
        raise ValueError("a bug")

    steps = [put("first"), put("second"), broken, put("last")]
    results = await asyncio.gather(*map(database.write, steps), return_exceptions=True)
    assert [type(each) for each in results if isinstance(each, BaseException)] == [ValueError]
    assert await keys(database) == ["first", "last", "second"]
    await database.close()


async def test_a_cancelled_caller_does_not_block_others(tmp_path: Path) -> None:
    database, _ = await opened(tmp_path)
    asked = [asyncio.create_task(database.write(put(str(n)))) for n in range(5)]
    await asyncio.sleep(0)
    asked[2].cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    with pytest.raises(asyncio.CancelledError):
        asked[2].result()
    assert await keys(database) == ["0", "1", "2", "3", "4"], "a submitted step is still written"
    await database.close()


async def test_the_write_ahead_log_stays_small_beside_a_reader(tmp_path: Path) -> None:
    database, _ = await opened(tmp_path)
    log = tmp_path / "x.db-wal"
    step = put_long()
    with closing(sqlite3.connect(tmp_path / "x.db")) as reader:
        for _ in range(4):
            await asyncio.gather(*(database.write(step) for _ in range(500)))
            reader.execute("select count(*) from state").fetchall()
            assert log.stat().st_size <= MAX_LOG_BYTES
        reader.execute("begin")
        reader.execute("select count(*) from state").fetchall()
        for _ in range(4):
            await asyncio.gather(*(database.write(step) for _ in range(500)))
        assert log.stat().st_size > MAX_LOG_BYTES, "this reader holds its snapshot"
    for _ in range(2):
        await asyncio.gather(*(database.write(step) for _ in range(500)))
    assert log.stat().st_size <= MAX_LOG_BYTES
    await database.close()


def put_long() -> Callable[[Connection], None]:
    """A write of 4 kB with a new key each time."""
    keys = itertools.count()

    def step(connection: Connection) -> None:
        connection.execute(insert(state).values(key=str(next(keys)), value="x" * 4_000))

    return step


async def test_freed_space_is_used_again_and_given_back_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    assert migrate(f"sqlite:///{path}", tmp_path)
    database = SqliteDatabase(f"sqlite:///{path}")
    for _ in range(3):
        await asyncio.gather(*map(database.write, [put_long()] * 500))
        size = await database.size_bytes()
        await database.write(lambda c: c.execute(delete(state)))
    assert size == await database.size_bytes() < 3_000_000, "as large as after the first 500"
    await database.close()
    migrate(f"sqlite:///{path}", tmp_path)
    assert path.stat().st_size == size, "not worth it"
    monkeypatch.setattr("storage.database.migrate.MIN_FREE_BYTES", 1_000_000)
    migrate(f"sqlite:///{path}", tmp_path)
    assert path.stat().st_size < 1_000_000

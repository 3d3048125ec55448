"""Steps that wait together share a commit, and one that fails does not affect the others."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, insert, select
from sqlalchemy.exc import IntegrityError

from storage.database.sqlite import SqliteDatabase
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

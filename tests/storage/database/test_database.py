"""An empty database, on SQLite and PostgreSQL."""

from __future__ import annotations

import ast
import asyncio
import traceback
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

import storage
from routing.errors import StorageFault
from storage.database import Database
from storage.database.async_engine import AsyncDatabase
from storage.database.sqlite import SqliteDatabase
from storage.schema import metadata, state


async def test_every_table_exists_and_the_size_is_known(database: Database) -> None:
    def count(c: Connection) -> int:
        return sum(c.execute(select(func.count()).select_from(t)).scalar_one() for t in metadata.tables.values())

    assert await database.read(count) == 0
    assert await database.size_bytes() > 10_000


async def test_each_url_opens_its_driver(database: Database, database_url: str) -> None:
    driver = database_url.split(":")[0]
    if driver == "sqlite":
        assert isinstance(database, SqliteDatabase)
        return
    assert isinstance(database, AsyncDatabase)
    assert isinstance(database._engine, AsyncEngine)
    assert database._engine.driver == driver.split("+")[1]


async def test_both_sqlite_drivers_have_the_same_settings(database: Database, database_url: str) -> None:
    if not database_url.startswith("sqlite"):
        return
    wanted = {"busy_timeout": 5000, "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}

    def settings(connection: Connection) -> dict[str, object]:
        return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted}

    assert await database.read(settings) == wanted


async def test_without_a_free_connection_the_database_is_unavailable(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'x.db'}"
    engine = create_async_engine(url, pool_size=1, max_overflow=0, pool_timeout=0)
    database = AsyncDatabase(engine, "select 0")
    async with engine.connect():
        with pytest.raises(StorageFault, match="all connections are in use"):
            await database.size_bytes()
    assert await database.size_bytes() == 0
    await database.close()


async def test_an_error_does_not_show_the_values_of_its_statement(database: Database) -> None:
    statement = insert(state).values(key="k", value="what a person wrote")
    await database.write(lambda c: c.execute(statement))
    with pytest.raises(IntegrityError, match="INSERT INTO state") as raised:
        await database.write(lambda c: c.execute(statement))
    assert "what a person wrote" not in "".join(traceback.format_exception(raised.value))


def test_every_engine_hides_the_values_of_its_statements() -> None:
    paths = sorted(Path(storage.__file__).parent.rglob("*.py"))
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    engines = [call for call in calls if ast.unparse(call.func) in ("create_engine", "create_async_engine")]
    assert engines
    for call in engines:
        assert "hide_parameters=True" in map(ast.unparse, call.keywords), ast.unparse(call)


async def test_a_cancelled_step_does_not_lock_the_database(database: Database) -> None:
    """Each write is cancelled a little later than the one before."""
    for turns in range(0, 400, 2):
        writing = asyncio.create_task(database.write(lambda c: c.execute(insert(state), {"key": "k", "value": "v"})))
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await database.write(lambda c: c.execute(delete(state)))

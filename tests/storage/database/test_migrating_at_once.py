"""Two processes that start on an empty database at the same moment: one migrates it, the other finds it done."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest

from storage.database import open_database
from storage.state import SqlState

_MIGRATE = """
import pathlib, sys
from storage.database.migrate import migrate
print(migrate(sys.argv[1], pathlib.Path(sys.argv[2])))
"""
_ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["sqlite", "sqlite+aiosqlite", pytest.param("postgres", marks=pytest.mark.system)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param != "postgres":
        return f"{request.param}:///{tmp_path / 'new.db'}"
    server = request.getfixturevalue("postgres")
    server.sql("create database at_once")
    return str(server.url("at_once"))


async def test_an_empty_database_is_migrated_once(empty_url: str, tmp_path: Path) -> None:
    async def start() -> tuple[str, int | None]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _MIGRATE, empty_url, str(tmp_path), cwd=_ROOT, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
        return printed.decode().strip(), process.returncode

    assert Counter(await asyncio.gather(start(), start())) == {("an empty database", 0): 1, ("None", 0): 1}
    database = open_database(empty_url)
    await SqlState(database).put("key", "value")
    await database.close()

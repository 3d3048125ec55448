"""A clock, and a database per test: SQLite as a copied file, PostgreSQL as a copy of a temporary template."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from routing.errors import StorageFault
from storage.database import Database, open_database
from storage.database.migrate import migrate
from storage.database.postgres import PostgresDatabase
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.postgres import Server
from tests.query_plans import no_growing_table_is_scanned, query_plans
from tests.storage.samples import ANN

__all__ = ["no_growing_table_is_scanned", "query_plans"]


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file."""
    path = tmp_path_factory.mktemp("template") / "tierbot.db"
    assert migrate(f"sqlite:///{path}", path.parent / "backups") == "an empty database"
    return path


@pytest.fixture
def tmp_path(in_memory: Path) -> Path:
    """Databases in memory."""
    return in_memory


@pytest.fixture(params=["sqlite", "sqlite+aiosqlite", pytest.param("postgres", marks=pytest.mark.system)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The kinds of database; each contract holds on all of them."""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return server.copy()
    path = tmp_path / "tierbot.db"
    shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    return f"{request.param}:///{path}"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A migrated, empty database. One on PostgreSQL hears notifications already: that clears the caches."""
    opened = open_database(database_url)
    if isinstance(opened, PostgresDatabase):
        opened.listener.start()
        await _listening(opened)
    yield opened
    await opened.close()


async def _listening(database: PostgresDatabase) -> None:
    while True:
        with suppress(StorageFault):
            await database.listener.ask("select 1")
            return
        await asyncio.sleep(0.01)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def stores(database: Database, clock: ManualClock) -> Stores:
    return open_stores(database, clock)


@pytest.fixture
async def ann(stores: Stores) -> int:
    """The id of a first person, an owner."""
    return (await stores.people.admit(ANN, "Ann", "owner", "t")).id

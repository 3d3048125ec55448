"""A clock, and a database per test: SQLite as a copied file, PostgreSQL as a copy of a temporary template."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from storage.database import Database, open_database
from storage.database.migrate import migrate
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock
from tests.query_plans import no_growing_table_is_scanned, query_plans
from tests.storage.samples import ANN

__all__ = ["no_growing_table_is_scanned", "query_plans"]

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass(slots=True)
class Server:
    """A PostgreSQL server that listens only on a socket in its own folder."""

    programs: Path
    folder: Path
    user: str | None
    databases: int = 0

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        where: Any = {"cwd": self.folder, "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}}
        with (self.folder / "log").open("ab") as log:
            subprocess.run(command, check=True, timeout=100, stdout=log, stderr=log, user=self.user, **where)

    def sql(self, statement: str) -> None:
        self.run("psql", "-h", str(self.folder), "-U", "postgres", "-d", "postgres", "-qc", statement)

    def url(self, name: str) -> str:
        return f"postgresql+asyncpg://postgres@/{name}?host={self.folder}"

    def copy(self) -> str:
        """The URL of a fresh copy of the migrated template."""
        self.databases += 1
        name = f"story{self.databases}"
        self.sql(f"create database {name} template template_of_ours")
        return self.url(name)


def programs() -> Path | None:
    """The folder of PostgreSQL's server programs, or None."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else []
    for pattern in _PLACES:
        places += sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
    return next((place for place in places if (place / "pg_ctl").exists() and (place / "psql").exists()), None)


def missing(what: str) -> None:
    """Skips with a reason; fails if TIERBOT_SETS=all."""
    if os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"TIERBOT_SETS=all, but {what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server with a migrated template. PostgreSQL refuses to run as root, so root switches to another user."""
    place = programs()
    if place is None:
        missing("PostgreSQL (initdb, pg_ctl, psql)")
    if importlib.util.find_spec("asyncpg") is None:
        missing("asyncpg (the extra postgres)")
    assert place is not None
    user = next((name for name in ("postgres", "nobody") if _exists(name)), None) if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    if user is not None:
        shutil.chown(folder, user)
    server = Server(place, folder, user)
    server.run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    server.run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", options, "-l", str(folder / "server.log"), "start")
    try:
        server.sql("create database template_of_ours")
        assert migrate(server.url("template_of_ours"), folder / "backups") == "an empty database"
        yield server
    finally:
        server.run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _exists(user: str) -> bool:
    return any(entry.pw_name == user for entry in pwd.getpwall())


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
    """A migrated, empty database."""
    opened = open_database(database_url)
    yield opened
    await opened.close()


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

"""A PostgreSQL server for the tests, and whether the stories' bots use it (TIERBOT_DATABASE=postgres)."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from storage.database.migrate import migrate

ON_POSTGRES = os.environ.get("TIERBOT_DATABASE") == "postgres"
"""Whether the bots of stories use PostgreSQL."""
servers: list[Server] = []
"""The session's server, once a test or ON_POSTGRES has started it."""
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

    def drop(self, url: str) -> None:
        """Delete a copy, also if a killed process still has a connection."""
        name = url.partition("@/")[2].partition("?")[0]
        self.sql(f"drop database {name} with (force)")

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


def missing(what: str, *, needed: bool = False) -> None:
    """Skips with a reason; fails if it is needed, or TIERBOT_SETS=all."""
    if needed or os.environ.get("TIERBOT_SETS") == "all":
        pytest.fail(f"{what} is missing, and this run asks for it")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server with a migrated template. PostgreSQL refuses to run as root, so root switches to another user."""
    place = programs()
    if place is None:
        missing("PostgreSQL (initdb, pg_ctl, psql)", needed=ON_POSTGRES)
    if importlib.util.find_spec("asyncpg") is None:
        missing("asyncpg (the extra postgres)", needed=ON_POSTGRES)
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
        servers.append(server)
        yield server
    finally:
        servers.clear()
        server.run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _exists(user: str) -> bool:
    return any(entry.pw_name == user for entry in pwd.getpwall())


@pytest.fixture(scope="session", autouse=ON_POSTGRES)
def postgres_for_stories(postgres: Server) -> None:
    """Starts the server before the first story."""

"""A PostgreSQL server of its own, with fsync, and what it spends."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bots.contestants import Process
from tests.postgres import Server, programs

GAUGES = """
select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
    (select xact_commit from pg_stat_database where datname = current_database()) as commits,
    (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables) as rows
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of all of the server's processes, WAL bytes, commits, and rows written."""

    cpu: float
    wal: float
    commits: int
    rows: int

    def since(self, before: Spent) -> Spent:
        """What was spent between the two."""
        return Spent(
            self.cpu - before.cpu, self.wal - before.wal, self.commits - before.commits, self.rows - before.rows
        )


@dataclass(frozen=True, slots=True)
class Queues:
    """The server. Its default settings, but for the socket."""

    server: Server

    def dsn(self, name: str) -> str:
        """How to connect to a database."""
        return f"postgresql://postgres@/{name}?host={self.server.folder}"

    def fresh(self, name: str) -> str:
        """An empty database in place of an earlier one."""
        self.server.sql(f"drop database if exists {name} with (force)")
        self.server.sql(f"create database {name}")
        return self.dsn(name)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        folder = self.server.folder
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
        log = str(folder / "server.log")
        self.server.run("pg_ctl", "-D", str(folder / "data"), "-w", "-o", options, "-l", log, "start")

    def stop(self) -> None:
        """As a crash would: no checkpoint, nobody is told."""
        self.server.run("pg_ctl", "-D", str(self.server.folder / "data"), "-m", "immediate", "stop")

    async def spent(self, connection: Any) -> Spent:
        """What it has spent so far."""
        await connection.execute("select pg_stat_clear_snapshot()")
        row = await connection.fetchrow(GAUGES)
        pid = int((self.server.folder / "data" / "postmaster.pid").read_text().split()[0])
        return Spent(cpu_seconds(pid), float(row["wal"]), row["commits"], int(row["rows"]))


def cpu_seconds(pid: int) -> float:
    """CPU time of a process and its children, also of those that have ended."""
    while True:
        with suppress(FileNotFoundError):  # a child has ended meanwhile
            return Process(pid, 0.0).cpu_seconds()


def unavailable() -> str:
    """What is missing to start a server; empty if nothing is."""
    return "" if programs() else "PostgreSQL (initdb, pg_ctl, psql)"


@contextmanager
def postgres() -> Iterator[Queues]:
    """A server in a temporary folder. It refuses to run as root, so root switches to another user."""
    place = programs()
    assert place is not None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next((name for name in ("postgres", "nobody") if name in names), None) if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="queues-"))
    if user is not None:
        shutil.chown(folder, user)
    found = Queues(Server(place, folder, user))
    found.server.run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8")
    found.start()
    try:
        yield found
    finally:
        found.stop()
        shutil.rmtree(folder, ignore_errors=True)

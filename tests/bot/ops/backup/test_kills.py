"""Backups and restores that are killed, and those of a database on a server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.config.workspace import JOURNAL, Workspace
from bot.ops.backup.archive import ArchiveReader
from bot.ops.backup.backup import Backup, make
from bot.ops.backup.restore import restore
from bot.ops.backup.swap import recover
from storage.database import server_restore
from tests.bot.ops.backup.conftest import LEFT, names_beside, opened, rows, tree
from tests.postgres import Server

COUNTED = (
    (os, "fsync"),
    (os, "sync"),
    (os, "utime"),
    (Path, "mkdir"),
    (Path, "rename"),
    (Path, "replace"),
    (Path, "unlink"),
)


def killed(run: Callable[[], object], prepare: Callable[[], None]) -> bool:
    """Runs a child process that kills itself at a place that `prepare` chooses. False if it did not get so far."""
    child = os.fork()
    if not child:
        try:
            prepare()
            run()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def kill_self(*_given: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at(step: int, run: Callable[[], object]) -> bool:
    """The child dies right before its change number `step`."""

    def prepare() -> None:
        left = step

        def counted(function: Callable[..., object]) -> Callable[..., object]:
            def count(*given: object, **more: object) -> object:
                nonlocal left
                left -= 1
                if not left:
                    kill_self()
                return function(*given, **more)

            return count

        for owner, name in COUNTED:
            setattr(owner, name, counted(getattr(owner, name)))

    return killed(run, prepare)


SWEEPS = pytest.mark.parametrize("places", [pytest.param(1, marks=pytest.mark.slow), 8], ids=["all", "some"])
"""How many places are between two kills."""


@SWEEPS
def test_a_killed_restore_leaves_the_old_state_or_is_finished(filled: Workspace, archive: Path, places: int) -> None:
    restored = tree(filled.root)
    (filled.root / "SYSTEM.md").write_text("Be rude.", encoding="utf-8")
    (filled.root / "mcp.json").write_text("{}", encoding="utf-8")
    parent, old = filled.root.parent, tree(filled.root)
    subprocess.run(["cp", "-a", filled.root, parent / "kept"], check=True)
    outcomes = []
    step = 1
    while killed_at(step, lambda: restore(filled, str(archive))):
        interrupted = (filled.root / JOURNAL).exists()
        recover(filled.root, lambda: "")
        assert tree(filled.root) == (restored if interrupted else tree(filled.root))
        outcomes.append(tree(filled.root) == restored)
        assert outcomes[-1] or tree(filled.root) == old
        assert all((filled.root / left).exists() for left in LEFT)
        aside = list(parent.glob("ws.before-*"))
        assert len(aside) == outcomes[-1]
        assert not aside or tree(aside[0]) == old
        for left in (filled.root, *aside):
            subprocess.run(["rm", "-rf", left], check=True)
        subprocess.run(["cp", "-a", parent / "kept", filled.root], check=True)
        step += places
    assert outcomes == sorted(outcomes), "first the old state, then the new one"
    assert 10 < places * sum(outcomes) < places * len(outcomes) - 10
    assert [path for path in parent.iterdir() if "restoring" in path.name] == [], "the last one tidied up"


def test_a_killed_backup_leaves_no_file_of_its_name(filled: Workspace) -> None:
    target, step = filled.root.parent / "backup.tar.gz", 1
    while killed_at(step, lambda: make(filled, target)):
        if target.exists():
            with target.open("rb") as stream:
                assert len(list(ArchiveReader(stream, "", "b").entries())) > 10
            target.unlink()
        step += 1
    assert step > 4
    for left in filled.root.parent.glob(".*.tierbot-backup"):
        os.utime(left, (0, 0))
    made: Backup = make(filled, target)
    assert names_beside(filled) == {"ws", made.path.name}, "what killed ones left is deleted after a day"


def facts_of(workspace: Workspace, look: Path) -> int:
    """How many facts a backup of the workspace has."""
    with make(workspace, look).path.open("rb") as stream:
        return ArchiveReader(stream, "", "look").head.rows["facts"]


@pytest.mark.system
class TestPostgres:
    @pytest.fixture
    def server(self, postgres: Server, filled: Workspace) -> Workspace:
        """Another workspace, with an empty database on a server."""
        postgres.databases += 1
        name = f"restored{postgres.databases}"
        postgres.sql(f"create database {name}")
        return opened(filled.root.parent / "other", DATABASE_URL=postgres.url(name))

    def test_a_backup_moves_to_postgres_and_back(self, filled: Workspace, server: Workspace, archive: Path) -> None:
        for _ in range(2):  # the second time, the first one's tables are put aside
            assert restore(server, str(archive)) == 0
            assert tree(server.root) == tree(filled.root)
        made = make(server, filled.root.parent / "server.tar.gz")
        back = opened(filled.root.parent / "back")
        assert restore(back, str(made.path)) == 0
        assert tree(back.root) == tree(filled.root)
        assert sorted(rows(back.root / "tierbot.db")) == sorted(rows(filled.root / "tierbot.db"))

    @SWEEPS
    def test_a_restore_that_is_killed_anywhere_is_undone_or_finished(
        self, filled: Workspace, server: Workspace, archive: Path, places: int
    ) -> None:
        restore(server, str(archive))
        old, url, parent = tree(server.root), server.environment.settings.database, filled.root.parent
        (filled.root / "SYSTEM.md").write_text("Be new.", encoding="utf-8")
        with closing(sqlite3.connect(filled.root / "tierbot.db")) as connection, connection:
            connection.execute("delete from facts where id = 1")
        newer, new, outcomes, step = make(filled, parent / "newer.tar.gz"), tree(filled.root), list[bool](), 1
        while killed_at(step, lambda: restore(server, str(newer.path))):
            recover(server.root, lambda: server_restore.loaded(url))
            assert not (server.root / JOURNAL).exists()
            outcomes.append(facts_of(server, parent / f"look-{step}.tar.gz") == 2)
            assert tree(server.root) == (new if outcomes[-1] else old)
            if outcomes[-1]:
                restore(server, str(archive))
            step += places
        assert outcomes == sorted(outcomes), "first the old state, then the new one"
        assert {*outcomes} == {False, True}

    @pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
    def test_a_restore_that_is_killed_around_the_commit_is_undone_or_finished(
        self, filled: Workspace, server: Workspace, archive: Path, committed: bool
    ) -> None:
        restore(server, str(archive))
        (filled.root / "SYSTEM.md").write_text("Be new.", encoding="utf-8")
        with closing(sqlite3.connect(filled.root / "tierbot.db")) as connection, connection:
            connection.execute("delete from facts where id = 1")
        newer = make(filled, filled.root.parent / "newer.tar.gz")
        url, old, load = server.environment.settings.database, tree(server.root), server_restore.load

        def load_and_die(*given: Any) -> None:
            if committed:
                load(*given)
            kill_self()

        def prepare() -> None:
            server_restore.load = load_and_die  # type: ignore[assignment]  # in the child only

        assert killed(lambda: restore(server, str(newer.path)), prepare)
        assert (server.root / JOURNAL).exists()
        recover(server.root, lambda: server_restore.loaded(url))
        assert not (server.root / JOURNAL).exists()
        assert facts_of(server, filled.root.parent / "look.tar.gz") == (2 if committed else 3)
        assert tree(server.root) == (tree(filled.root) if committed else old)

"""Backups of a workspace and their restoration: identical, all or nothing, and the old state is kept."""

from __future__ import annotations

import errno
import io
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from bot.config.workspace import JOURNAL, Workspace
from bot.ops.backup.archive import FORMAT, ArchiveReader, ArchiveWriter, Head
from bot.ops.backup.backup import Backup, make
from bot.ops.backup.contents import Entry, is_safe_link
from bot.ops.backup.restore import restore
from bot.ops.backup.swap import recover
from routing.errors import ConfigError
from storage.database import server_restore
from storage.database.migrate import migrate
from storage.schema import REVISION
from tests.bot.ops.backup.conftest import LEFT, opened, tree
from tests.storage.conftest import Server

PASSPHRASE = "correct horse battery"


def rows(database: Path) -> list[str]:
    """The whole database as SQL."""
    connection = sqlite3.connect(database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.fixture
def archive(filled: Workspace) -> Path:
    return make(filled, filled.root.parent / "backup.tar.gz").path


def names_beside(workspace: Workspace) -> set[str]:
    return {path.name for path in workspace.root.parent.iterdir()}


@pytest.mark.parametrize("passphrase", ["", PASSPHRASE], ids=["plain", "encrypted"])
def test_a_backup_restores_the_same_elsewhere(
    filled: Workspace, passphrase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(filled.root)
    workspace = opened(filled.root, BACKUP_PASSPHRASE=passphrase)
    made = make(workspace, filled.root.parent / "backup.tar.gz")
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert (made.encrypted, made.skipped, made.size) == (bool(passphrase), (), made.path.stat().st_size)
    assert names_beside(filled) == {"ws", "backup.tar.gz"}
    other = opened(filled.root.parent / "new" / "place", BACKUP_PASSPHRASE=passphrase)
    assert restore(other, str(made.path)) == 0
    assert f"into {other.root}: {made.rows:,} rows." in capsys.readouterr().out
    assert tree(other.root) == before == tree(filled.root)
    assert rows(other.root / "tierbot.db") == rows(filled.root / "tierbot.db")
    assert [left for left in LEFT if (other.root / left).exists()] == ["tierbot.lock"]
    assert os.listdir(other.root.parent) == ["place"]


def test_the_old_state_is_kept_aside(filled: Workspace, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(filled.root)
    (filled.root / "SYSTEM.md").write_text("Be rude.", encoding="utf-8")
    (filled.root / "files/8").mkdir()
    (filled.root / "files/8/new.txt").write_text("new", encoding="utf-8")
    connection = sqlite3.connect(filled.root / "tierbot.db")
    with connection:
        connection.execute("delete from facts")
    connection.close()
    changed, changed_rows = tree(filled.root), rows(filled.root / "tierbot.db")
    assert restore(filled, str(archive)) == 0
    assert tree(filled.root) == before
    assert rows(filled.root / "tierbot.db") != changed_rows
    assert all((filled.root / left).exists() for left in LEFT)
    (aside,) = filled.root.parent.glob("ws.before-*")
    assert f"The old files are in {aside}." in capsys.readouterr().out
    assert tree(aside) == changed
    assert rows(aside / "tierbot.db") == changed_rows
    assert names_beside(filled) == {"ws", "backup.tar.gz", aside.name}


def test_a_workspace_whose_parent_is_read_only_keeps_the_old_state_inside(
    filled: Workspace, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename = tree(filled.root), Path.rename

    def refused(source: Path, target: Path) -> Path:
        if target.parent == filled.root.parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", refused)
    assert restore(filled, str(archive)) == 0
    (aside,) = (filled.root / ".restore").iterdir()
    assert tree(aside) == before
    assert names_beside(filled) == {"ws", "backup.tar.gz"}
    shutil.move(filled.root / ".restore", filled.root.parent / "moved")
    assert tree(filled.root) == before


def test_a_database_elsewhere_is_replaced_there(filled: Workspace, archive: Path) -> None:
    elsewhere = filled.root.parent / "data" / "bot.db"
    other = opened(filled.root.parent / "other", DATABASE_URL=f"sqlite:///{elsewhere}")
    for kept in (0, 1):
        assert restore(other, str(archive)) == 0
        assert rows(elsewhere) == rows(filled.root / "tierbot.db")
        assert not (other.root / "tierbot.db").exists()
        assert len(list(elsewhere.parent.glob("bot.db.before-*"))) == kept
    made = make(other, filled.root.parent / "again.tar.gz")
    assert restore(opened(filled.root.parent / "third"), str(made.path)) == 0
    assert rows(filled.root.parent / "third" / "tierbot.db") == rows(elsewhere)


def test_another_programs_database_is_left_alone(filled: Workspace, archive: Path) -> None:
    theirs = filled.root.parent / "theirs.db"
    connection = sqlite3.connect(theirs)
    connection.execute("create table songs (x)")
    connection.close()
    other = opened(filled.root.parent / "other", DATABASE_URL=f"sqlite:///{theirs}")
    with pytest.raises(ConfigError, match="another program"):
        restore(other, str(archive))
    assert not other.root.exists()


def test_a_database_that_the_backup_names_is_not_replaced_by_accident(filled: Workspace) -> None:
    (filled.root / ".env").write_text("DATABASE_URL=sqlite:////srv/production.db\n", encoding="utf-8")
    made = make(filled, filled.root.parent / "backup.tar.gz")
    other = filled.root.parent / "other"
    with pytest.raises(ConfigError, match="names a database in DATABASE_URL"):
        restore(opened(other), str(made.path))
    assert not other.exists()
    assert restore(opened(other, DATABASE_URL=f"sqlite:///{other / 'tierbot.db'}"), str(made.path)) == 0


def test_the_address_in_the_backup_is_read_as_the_bot_reads_it(
    filled: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bot does not replace ${NAME} in its `.env`."""
    url = f"sqlite:///{filled.root.parent}/${{HOME}}.db"
    (filled.root / ".env").write_text(f"DATABASE_URL={url}\n", encoding="utf-8")
    made = make(filled, filled.root.parent / "backup.tar.gz")
    assert restore(opened(filled.root.parent / "other", DATABASE_URL=url), str(made.path)) == 0
    assert "names another database" not in capsys.readouterr().out


def test_a_running_bot_is_not_replaced(filled: Workspace, archive: Path) -> None:
    before = tree(filled.root)
    with FileLock(filled.lock_file), pytest.raises(ConfigError, match="stop it first"):
        restore(filled, str(archive))
    assert tree(filled.root) == before


def test_a_terminal_chat_beside_the_bot_is_in_the_backup(filled: Workspace, filled_database: bytes) -> None:
    (filled.root / "terminal/files").mkdir(parents=True)
    (filled.root / "terminal/tierbot.db").write_bytes(filled_database)
    (filled.root / "terminal/tierbot.db-wal").write_bytes(b"")
    made = make(filled, filled.root.parent / "backup.tar.gz")
    other = opened(filled.root.parent / "other")
    restore(other, str(made.path))
    assert rows(other.root / "terminal/tierbot.db") == rows(filled.root / "tierbot.db")
    assert (other.root / "terminal/files").is_dir()


def test_what_can_not_be_in_a_backup_is_named(filled: Workspace) -> None:
    (filled.root / "skills/mine").symlink_to("/home/me/skills")
    os.mkfifo(filled.root / "files/7/pipe")
    deep = filled.root / "files/7" / "/".join("d" for _ in range(80))
    deep.mkdir(parents=True)
    made = make(filled, filled.root.parent / "backup.tar.gz")
    reasons = {path.split("/d/")[0]: reason for path, reason in made.skipped}
    assert reasons == {
        "skills/mine": "it is a link that leads out of the workspace",
        "files/7/pipe": "it is neither a file nor a folder",
        "files/7": "it is too deep in folders",
    }


@pytest.mark.parametrize(
    ("path", "target", "safe"),
    [
        ("a", "b", True),
        ("a", "b/c", True),
        ("x/a", "../b", True),
        ("a", "../b", False),
        ("x/a", "../../b", False),
        ("a", "/etc/passwd", False),
        ("a", "b/../../c", False),
        ("x/y/a", "../b/../c", False),
        ("files/7/a", "/etc/passwd", True),
    ],
)
def test_links_stay_in_the_workspace(path: str, target: str, safe: bool) -> None:
    assert is_safe_link(path, target) is safe


def test_another_file_is_not_overwritten_by_a_backup(filled: Workspace) -> None:
    mine = filled.root.parent / "thesis.doc"
    mine.write_bytes(b"years of work")
    with pytest.raises(ConfigError, match="is no backup"):
        make(filled, mine)
    with pytest.raises(ConfigError, match="is a folder"):
        make(filled, filled.root)
    assert mine.read_bytes() == b"years of work"
    first = make(filled, filled.root.parent / "backup.tar.gz")
    assert make(filled, first.path).path == first.path


def test_a_pipe_is_refused_instead_of_waited_for(filled: Workspace) -> None:
    pipe = filled.root.parent / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="is no file"):
        make(filled, pipe)
    with pytest.raises(ConfigError, match="is no file"):
        restore(filled, str(pipe))


def test_a_backup_in_the_workspace_does_not_hold_the_one_before(filled: Workspace) -> None:
    first = make(filled, filled.root / "backup.tar.gz")
    assert make(filled, first.path).files == first.files


def test_a_folder_with_other_things_is_not_put_aside(filled: Workspace, archive: Path) -> None:
    home = filled.root.parent / "home"
    home.mkdir()
    for name in ("files", "models", "backups"):
        (home / name).mkdir()
    (home / ".env").touch()
    with pytest.raises(ConfigError, match="is no workspace of tierbot"):
        restore(opened(home), str(archive))
    assert sorted(path.name for path in home.iterdir()) == [".env", "backups", "files", "models"]


def test_a_backup_can_be_stopped(filled: Workspace) -> None:
    class Stopped(Exception):
        pass

    steps = 0

    def stop() -> None:
        nonlocal steps
        steps += 1
        if steps == 10:
            raise Stopped

    with pytest.raises(Stopped):
        make(filled, filled.root.parent / "backup.tar.gz", stop)
    assert names_beside(filled) == {"ws"}


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """As on a full disk, no file of this process can grow beyond a size."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_is_said_and_nothing_is_left_half(filled: Workspace) -> None:
    (filled.root / "files/7/large").write_bytes(os.urandom(1_500_000))
    before, target = tree(filled.root), filled.root.parent / "backup.tar.gz"
    for size in (4_096, 100_000, 1_000_000):
        with files_up_to(size), pytest.raises(ConfigError, match=r"can't be (written|used)"):
            make(filled, target)
        assert names_beside(filled) == {"ws"}
    make(filled, target)
    (filled.root / "SYSTEM.md").write_text("Be rude.", encoding="utf-8")
    before = tree(filled.root)
    for size in (4_096, 100_000, 1_000_000):
        with files_up_to(size), pytest.raises(ConfigError, match="Nothing was changed"):
            restore(filled, str(target))
        assert tree(filled.root) == before
        assert names_beside(filled) == {"ws", "backup.tar.gz"}
    with files_up_to(100_000), pytest.raises(ConfigError):
        restore(opened(filled.root.parent / "new"), str(target))
    assert names_beside(filled) == {"ws", "backup.tar.gz"}


def test_a_failed_backup_leaves_the_one_before(filled: Workspace, archive: Path) -> None:
    before = archive.read_bytes()
    with files_up_to(100), pytest.raises(ConfigError):
        make(filled, archive)
    assert archive.read_bytes() == before


def crafted(path: Path, database: bytes, *entries: tuple[Entry, bytes], revision: str = REVISION) -> Path:
    """An archive with valid checksums of these entries, beside a database."""
    given = path.with_name("given.db")
    given.write_bytes(database)
    count = "select count(*) from"
    with sqlite3.connect(given) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        tables = [name for name in tables if name not in ("alembic_version", "sqlite_sequence")]
        found = {name: connection.execute(f'{count} "{name}"').fetchone()[0] for name in tables}
    connection.close()
    with path.open("wb") as stream:
        writer = ArchiveWriter(stream, io.BytesIO(), "", lambda: None)
        writer.head(Head(FORMAT, "1.0", revision, 0.0, found))
        writer.add(Entry("database.db", "file", 0o600, 0.0, len(database), stream=io.BytesIO(database)))
        for entry, data in entries:
            stream_of = io.BytesIO(data) if entry.kind == "file" else None
            writer.add(Entry(entry.path, entry.kind, 0o700, 0.0, len(data), entry.target, stream_of))
        writer.finish()
    given.unlink()
    return path


def entry(path: str, kind: str = "file", target: str = "") -> tuple[Entry, bytes]:
    return Entry(path, kind, 0o700, 0.0, target=target), b"x" if kind == "file" else b""  # type: ignore[arg-type]  # a Kind


FOLDER = entry("workspace/a", "folder")


@pytest.mark.parametrize(
    "entries",
    [
        [entry("workspace/../evil")],
        [FOLDER, entry("workspace/a/../../evil")],
        [entry("/tmp/evil")],
        [entry("workspace//evil")],
        [entry("workspace/./evil")],
        [entry("workspace/")],
        [entry("evil")],
        [entry("workspace/x"), entry("workspace/x")],
        [entry("database.db")],
        [entry("workspace/x"), entry("workspace/x/y")],
        [entry("workspace/missing/x")],
        [entry("workspace/l", "link", "/tmp")],
        [entry("workspace/l", "link", "../.."), entry("workspace/l/x")],
        [FOLDER, entry("workspace/a/l", "link", "../b/../../x")],
        [entry("workspace/tierbot.lock")],
        [entry("workspace/restore.json")],
        [entry("workspace/backups/x")],
        [entry("database.db", "link", "/tmp/x")],
    ],
    ids=lambda entries: " ".join(each.path for each, _ in entries),
)
def test_tricks_with_names_are_refused(
    filled: Workspace, filled_database: bytes, entries: list[tuple[Entry, bytes]]
) -> None:
    path = crafted(filled.root.parent / "crafted.tar.gz", filled_database, *entries)
    before = tree(filled.root)
    with pytest.raises(ConfigError, match="a file name that no backup has"):
        restore(filled, str(path))
    assert tree(filled.root) == before
    assert names_beside(filled) == {"ws", "crafted.tar.gz"}


def test_a_link_can_not_be_written_through(filled: Workspace, filled_database: bytes) -> None:
    """In the folder of a person, links may lead anywhere."""
    outside = filled.root.parent / "outside"
    outside.mkdir()
    tricks = [entry("workspace/files", "folder"), entry("workspace/files/l", "link", str(outside))]
    path = crafted(filled.root.parent / "crafted.tar.gz", filled_database, *tricks, entry("workspace/files/l/x"))
    with pytest.raises(ConfigError, match="a file name that no backup has"):
        restore(filled, str(path))
    assert list(outside.iterdir()) == []


def test_an_archive_of_a_newer_revision_is_refused(filled: Workspace, filled_database: bytes) -> None:
    path = crafted(filled.root.parent / "newer.tar.gz", filled_database, revision="9999")
    with pytest.raises(ConfigError, match=r"tierbot 1\.0 with revision 9999 .* install a newer one"):
        restore(filled, str(path))


def test_an_archive_with_another_database_than_it_says_is_refused(filled: Workspace, filled_database: bytes) -> None:
    path = crafted(filled.root.parent / "other.tar.gz", filled_database, revision="0027")
    with pytest.raises(ConfigError, match="database in the backup is damaged"):
        restore(filled, str(path))


def test_an_older_archive_is_migrated(in_memory: Path) -> None:
    from alembic import command

    from tests.migrations.test_migrations import config, connected

    with connected(in_memory / "old.db") as connection:
        command.upgrade(config(connection), "0020")
        connection.exec_driver_sql("insert into people (name, role, created_at) values ('Alice', 'owner', 0.5)")
    old = crafted(in_memory / "old.tar.gz", (in_memory / "old.db").read_bytes(), revision="0020")
    workspace = opened(in_memory / "ws")
    assert restore(workspace, str(old)) == 0
    assert migrate(workspace.environment.settings.database, workspace.backups) is None
    migrated = sqlite3.connect(workspace.root / "tierbot.db")
    assert migrated.execute("select name, role, created_at from people").fetchall() == [("Alice", "owner", 0.5)]
    migrated.close()


def test_an_encrypted_archive_asks_for_its_passphrase(filled: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(make(opened(filled.root, BACKUP_PASSPHRASE=PASSPHRASE), filled.root.parent / "backup").path)
    other = opened(filled.root.parent / "other")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(ConfigError, match="set BACKUP_PASSPHRASE"):
        restore(other, path)
    with pytest.raises(ConfigError, match="does not fit"):
        restore(opened(other.root, BACKUP_PASSPHRASE="another passphrase"), path)
    assert not other.root.exists()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda prompt: PASSPHRASE)
    assert restore(other, path) == 0


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


SWEEPS = pytest.mark.parametrize("places", [pytest.param(1, marks=pytest.mark.slow), 4], ids=["all", "some"])
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

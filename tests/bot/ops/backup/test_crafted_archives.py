"""Archives that no bot of this version made: hostile, newer, damaged or older ones."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pytest

from bot.config.workspace import Workspace
from bot.ops.backup.archive import FORMAT, ArchiveWriter, Head
from bot.ops.backup.contents import Entry
from bot.ops.backup.restore import restore
from routing.errors import ConfigError
from storage.database.migrate import migrate
from storage.schema import REVISION
from tests.bot.ops.backup.conftest import names_beside, opened, tree


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

"""Restores: identical, all or nothing, and the old state is kept."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from filelock import FileLock

from bot.config.workspace import Workspace
from bot.ops.backup.backup import make
from bot.ops.backup.restore import restore
from routing.errors import ConfigError
from tests.bot.ops.backup.conftest import LEFT, names_beside, opened, rows, tree

PASSPHRASE = "correct horse battery"


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


def test_a_folder_with_other_things_is_not_put_aside(filled: Workspace, archive: Path) -> None:
    home = filled.root.parent / "home"
    home.mkdir()
    for name in ("files", "models", "backups"):
        (home / name).mkdir()
    (home / ".env").touch()
    with pytest.raises(ConfigError, match="is no workspace of tierbot"):
        restore(opened(home), str(archive))
    assert sorted(path.name for path in home.iterdir()) == [".env", "backups", "files", "models"]


def ctrl_d(prompt: str) -> str:
    raise EOFError


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
    monkeypatch.setattr("getpass.getpass", ctrl_d)
    with pytest.raises(ConfigError, match="set BACKUP_PASSPHRASE"):
        restore(other, path)
    monkeypatch.setattr("getpass.getpass", lambda prompt: PASSPHRASE)
    assert restore(other, path) == 0

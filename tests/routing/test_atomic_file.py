"""Files are replaced whole: the old content or the new one, with the owner and the permissions that they had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from routing.atomic_file import write_text


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_file_is_private_and_its_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_text(path, "ä\n")
    assert path.read_text(encoding="utf-8") == "ä\n"
    assert (_mode(path), _mode(path.parent)) == (0o600, 0o700)


def test_permissions_stay_unless_others_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    write_text(path, "new")
    assert _mode(path) == 0o644
    write_text(path, "secret", 0o600)
    assert _mode(path) == 0o600


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    target = tmp_path / "shared" / "f"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    link = tmp_path / "f"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes for others")
def test_root_leaves_the_file_to_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    os.chown(folder, 4711, 4712)
    new, old = folder / "new", folder / "old"
    old.write_text("old", encoding="utf-8")
    os.chown(old, 4713, 4714)
    for path in (new, old):
        write_text(path, "text")
    assert (new.stat().st_uid, new.stat().st_gid) == (4711, 4712)
    assert (old.stat().st_uid, old.stat().st_gid) == (4713, 4714)


def test_a_reader_that_opened_the_old_file_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old", encoding="utf-8")
    with path.open(encoding="utf-8") as reader:
        write_text(path, "new")
        assert reader.read() == "old"


def test_a_failed_write_changes_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["f"]
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_text(folder, "new")
    assert sorted(os.listdir(tmp_path)) == ["f", "folder"]

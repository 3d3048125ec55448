"""Which files of a workspace are in a backup."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.ops.backup.contents import entries
from routing.atomic_file import write_text
from storage.people.secret_box import FernetBox


async def test_a_file_that_is_being_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "SYSTEM.md").touch()
    seen: list[list[str]] = []

    def look(handle: int) -> None:
        seen.append([entry.path for entry in entries(tmp_path, (), lambda path, reason: None)])

    monkeypatch.setattr("os.fsync", look)
    write_text(tmp_path / "SYSTEM.md", "Be kind.")
    await FernetBox(tmp_path / "secrets.key").seal("secret")
    assert seen[:2] == [["SYSTEM.md"], ["SYSTEM.md"]]

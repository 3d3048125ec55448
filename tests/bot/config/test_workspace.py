"""What belongs to a workspace, and what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config.environment import load
from bot.config.workspace import JOURNAL, RESTORES, Workspace, is_workspace, locked, refuse_other_folder
from routing.errors import ConfigError


def put(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


@pytest.mark.parametrize(
    "name",
    ["tierbot.db", "tierbot.lock", "preferences/runtime-config.json", "models/models.json", JOURNAL, f"{RESTORES}/x"],
)
def test_a_folder_in_which_a_bot_has_worked_is_a_workspace(tmp_path: Path, name: str) -> None:
    assert not is_workspace(tmp_path)
    put(tmp_path, "notes.txt", name)
    assert is_workspace(tmp_path)
    refuse_other_folder(tmp_path)


@pytest.mark.parametrize("name", ["files/a", "models/user.py", "backups/old.tar", ".bashrc", "preferences/theme"])
def test_a_folder_of_another_program_is_refused_also_with_an_env(tmp_path: Path, name: str) -> None:
    put(tmp_path, ".env", name)
    with pytest.raises(ConfigError, match="is no workspace of tierbot, and not empty: choose another folder"):
        refuse_other_folder(tmp_path)


def test_a_folder_that_is_empty_new_or_has_only_settings_can_become_one(tmp_path: Path) -> None:
    refuse_other_folder(tmp_path)
    refuse_other_folder(tmp_path / "new")
    refuse_other_folder(put(tmp_path, ".env"))


def test_every_file_of_the_database_is_named(tmp_path: Path) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    endings = ("", "-wal", "-shm", "-journal")
    assert workspace.databases() == tuple(tmp_path / f"tierbot.db{ending}" for ending in endings)
    server = {"DATABASE_URL": "postgresql+asyncpg://host/name"}
    assert Workspace(load({"WORKSPACE": str(tmp_path), **server})).databases() == ()


def test_a_locked_workspace_is_in_use(tmp_path: Path) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    with locked(tmp_path):
        assert workspace.in_use()
        with pytest.raises(ConfigError, match="Another tierbot already runs"):
            workspace.prepare()
    assert not workspace.in_use()


def test_a_workspace_is_free_again_after_an_error(tmp_path: Path) -> None:
    workspace = Workspace(load({"WORKSPACE": str(tmp_path)}))
    with pytest.raises(ConfigError, match="in use"), workspace.held():
        raise ConfigError("in use" if workspace.in_use() else "free")
    assert not workspace.in_use()

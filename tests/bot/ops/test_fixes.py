"""`doctor --fix` repairs what is safe, says so, and leaves everything else alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from bot.config.environment import load
from bot.config.workspace import Workspace
from bot.ops.fixes import Fix, fix
from storage.database.migrate import SCRIPTS
from tests.bot.cli import tierbot


@pytest.fixture
def workspace(in_memory: Path) -> Iterator[Workspace]:
    """A workspace after a first start."""
    before = os.umask(0o077)  # as the command line sets it
    made = Workspace(load({"WORKSPACE": str(in_memory / "workspace")}))
    made.prepare()
    made.release()
    assert fix(made.environment, made) == []
    yield made
    os.umask(before)


def fixed(workspace: Workspace) -> list[Fix]:
    """What was fixed. A second time there is nothing left."""
    done = fix(workspace.environment, workspace)
    assert fix(workspace.environment, workspace) == [each for each in done if each.failed]
    return done


def old(path: Path, text: str = "x") -> Path:
    path.write_text(text)
    os.utime(path, (1, 1))
    return path


def test_permissions_of_others_are_removed(workspace: Workspace) -> None:
    workspace.env_file.write_text("OPENAI_API_KEY=sk-1\n")
    workspace.env_file.chmod(0o644)
    workspace.backups.chmod(0o755)
    found = {each.detail.partition(":")[0] for each in fixed(workspace) if each.name == "permissions"}
    assert found == {str(workspace.env_file), str(workspace.backups)}
    assert workspace.env_file.stat().st_mode & 0o777 == 0o600
    assert workspace.backups.stat().st_mode & 0o777 == 0o700
    assert workspace.env_file.read_text() == "OPENAI_API_KEY=sk-1\n"


def test_missing_folders_are_created(workspace: Workspace) -> None:
    workspace.skills_folder.rmdir()
    assert fixed(workspace) == [Fix("folders", f"created {workspace.skills_folder}")]
    assert workspace.skills_folder.stat().st_mode & 0o777 == 0o700


def test_only_old_unfinished_files_of_ours_are_removed(workspace: Workspace) -> None:
    workspace.edits.mkdir()
    gone = [
        old(workspace.backups / "tierbot-0042-20260101-000000.db.part"),
        old(workspace.config_file.parent / ".runtime-config.json.ab12_xyz"),
        old(workspace.root / ".secrets.key.abcdefgh"),
        old(workspace.models / ".models.json.new"),
        old(workspace.root / "..env.ab12_xyz"),
        old(workspace.edits / ".000007.json.ab12_xyz"),
        old(workspace.root / "..env.ab12_xyz.new"),
        old(workspace.root / ".secrets.key.ab12_xyz.new"),
        old(workspace.root / ".admin.token.ab12_xyz.new"),
        old(workspace.edits / ".000008.json.ab12_xyz.new"),
    ]
    kept = [
        old(workspace.root / ".env.old"),
        old(workspace.root / ".env.template"),
        old(workspace.edits / "000007.json"),
        old(workspace.root / "secrets.key"),
        old(workspace.root / ".mine.new"),
        old(workspace.backups / "tierbot-0042-20260101-000000.db"),
        old(workspace.models / "mine.gguf.part"),
        old(workspace.config_file.parent / "runtime-config.json.bak"),
        workspace.root / ".admin.token.abcdefgh.new",
    ]
    kept[-1].write_text("being written")
    removed = [each for each in fixed(workspace) if each.name == "unfinished files"]
    assert sorted(each.detail.split()[1].rstrip(",") for each in removed) == sorted(map(str, gone))
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in kept)


def test_a_pending_migration_runs_after_a_backup(workspace: Workspace) -> None:
    url = workspace.environment.settings.database
    engine = create_engine(url)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(SCRIPTS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0020")
    engine.dispose()
    (workspace.root / "tierbot.db").chmod(0o600)
    (done,) = fixed(workspace)
    assert done == Fix("database", f"migrated from revision 0020; a SQLite database has a copy in {workspace.backups}")
    assert len(list(workspace.backups.glob("tierbot-0020-*.db"))) == 1


def test_a_damaged_database_is_left_alone(workspace: Workspace) -> None:
    database = workspace.root / "tierbot.db"
    database.write_bytes(b"SQLite format 3\0" + b"nonsense" * 1000)
    database.chmod(0o600)
    before = database.read_bytes()
    assert all(each.failed for each in fixed(workspace))
    assert database.read_bytes() == before


def test_a_running_bot_is_not_disturbed(workspace: Workspace) -> None:
    part = old(workspace.backups / "tierbot-0042-20260101-000000.db.part")
    workspace.env_file.write_text("")
    workspace.env_file.chmod(0o644)
    with workspace.held():
        workspace.env_file.chmod(0o644)
        done = fix(workspace.environment, Workspace(workspace.environment))
    assert [each.name for each in done] == ["permissions"]
    assert part.exists()


def test_what_cannot_be_fixed_is_said(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    workspace.env_file.write_text("")
    os.chmod(workspace.env_file, 0o644)
    monkeypatch.setattr(Path, "chmod", refuse)
    (done,) = fixed(workspace)
    assert done.failed
    assert done.detail.endswith("(Operation not permitted)")


async def test_the_report_begins_with_what_was_fixed(workspace: Workspace) -> None:
    workspace.env_file.write_text("LOG_LEVEL=ERROR\n")
    workspace.env_file.chmod(0o644)
    _, output, _ = await tierbot(workspace.root, "doctor", "--fix", "--json")
    report = json.loads(output)
    assert [(each["name"], each["done"]) for each in report["fixes"]] == [("permissions", True)]
    assert not [each for each in report["checks"] if each["name"] == "permissions"]
    _, output, _ = await tierbot(workspace.root, "doctor", "--fix")
    assert output.startswith("Nothing to fix automatically.\n\n")
    assert "fixes" not in json.loads((await tierbot(workspace.root, "doctor", "--json"))[1])

"""Edits of the workspace's files: checked, shown without secrets, refused after another's change, undone."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from bot.admin.edits import MAX_UNDO, Conflict, Edits, File, Proposal
from bot.config.environment import EnvironmentFault, load
from bot.config.workspace import Workspace
from routing.catalog.catalog import BUNDLED
from routing.errors import ConfigError
from tests.fakes import ManualClock

OLD_KEY, NEW_KEY = "sk-old-0123456789abcdefghij", "sk-new-zyxwvutsrqponmlkjihg"
ENV = f"# my keys\nOPENAI_API_KEY={OLD_KEY}\n\nLOG_LEVEL=INFO\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    (root / "preferences").mkdir(parents=True)
    (root / ".env").write_text(ENV)
    made = Workspace(load({"WORKSPACE": str(root)}))
    made.prepare()
    return made


@pytest.fixture
def edits(workspace: Workspace) -> Edits:
    return Edits(workspace, ManualClock())


def proposed(edits: Edits, text: str, digest: str = "") -> Proposal:
    proposal = edits.propose("Change the level", {"env": text}, {"env": digest or edits.read("env").digest}, "/")
    assert proposal is not None
    return proposal


def shown(edits: Edits, proposal: Proposal) -> str:
    return "\n".join(f"{line.kind}: {line.text}" for each in edits.diffs(proposal) for line in each.lines)


def test_a_change_is_shown_then_saved_with_mode_0600(workspace: Workspace, edits: Edits) -> None:
    workspace.env_file.chmod(0o644)
    proposal = proposed(edits, ENV.replace("INFO", "DEBUG"))
    assert workspace.env_file.read_text() == ENV
    assert "removed: LOG_LEVEL=INFO\nadded: LOG_LEVEL=DEBUG" in shown(edits, proposal)
    edits.save(proposal)
    assert workspace.env_file.read_text() == ENV.replace("INFO", "DEBUG")
    assert stat.S_IMODE(workspace.env_file.stat().st_mode) == 0o600
    assert edits.waiting(proposal.id) is None
    assert edits.saved().environment.settings.log_level == "DEBUG"


def test_a_diff_shows_no_secret(edits: Edits) -> None:
    text = ENV.replace(OLD_KEY, NEW_KEY) + "TELEGRAM_BOT_TOKEN=1:short\nMY_PASSWORD=hunter2\n"
    found = shown(edits, proposed(edits, text))
    assert "removed: OPENAI_API_KEY=••••ghij\nadded: OPENAI_API_KEY=••••jihg" in found
    assert not any(secret in found for secret in (OLD_KEY, NEW_KEY, "hunter2", "1:short"))
    config = json.dumps({"llm": {"providers": {"openai": {"apiKey": NEW_KEY}}}}, indent=2)
    proposal = edits.propose("Add a key", {"config": config}, {"config": edits.read("config").digest}, "/")
    assert proposal is not None
    assert '"apiKey": "••••jihg"' in shown(edits, proposal)


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("env", "LOG_LEVEL=LOUD\n", "LOG_LEVEL"),
        ("env", "not a variable\n", "not of the form"),
        ("config", '{"tiers": {"balanced": {"attempts": 0}}}', "attempts"),
        ("config", '{"tiers": ', "line 1"),
        ("catalogue", '{"models": {"a/b": {"maxInputTokens": -1}}}', "maxInputTokens"),
    ],
)
def test_what_the_bot_would_not_accept_is_refused(edits: Edits, file: File, text: str, words: str) -> None:
    before = edits.read(file)
    with pytest.raises(ConfigError, match=words):
        edits.propose("Break it", {file: text}, {file: before.digest}, "/")
    assert edits.read(file) == before


def test_a_fault_that_is_already_in_env_does_not_block_other_files(workspace: Workspace, edits: Edits) -> None:
    workspace.env_file.write_text("LOG_LEVEL=LOUD\n")
    assert edits.propose("Set a limit", {"config": '{"turn": {"maxUsd": 1}}'}, {"config": "missing"}, "/") is not None
    with pytest.raises(EnvironmentFault):
        proposed(edits, "LOG_LEVEL=LOUDER\n")


def test_two_editors_do_not_overwrite_each_other(workspace: Workspace, edits: Edits) -> None:
    first, second = edits.read("env").digest, edits.read("env").digest
    mine, theirs = (proposed(edits, f"{ENV}{name}=1\n", first) for name in ("A", "B"))
    edits.save(mine)
    with pytest.raises(Conflict) as saved:
        edits.save(theirs)
    assert "added" in {line.kind for line in saved.value.diffs[0].lines}
    with pytest.raises(Conflict):
        proposed(edits, f"{ENV}C=1\n", second)
    workspace.env_file.write_text("EDITOR=vim\n")
    with pytest.raises(Conflict, match=r"\.env changed meanwhile"):
        proposed(edits, "X=1\n", "a digest that was never shown")
    assert workspace.env_file.read_text() == "EDITOR=vim\n"


def test_the_last_edits_can_be_undone(workspace: Workspace, edits: Edits) -> None:
    for level in ("DEBUG", "ERROR"):
        edits.save(proposed(edits, ENV.replace("INFO", level)))
    newest, oldest = edits.log()
    assert (newest.undoable, oldest.undoable) == (True, False)
    with pytest.raises(Conflict):
        edits.undo(oldest.id)
    undo = edits.undo(newest.id)
    assert undo is not None
    assert undo.summary == "Undo: Change the level"
    edits.save(undo)
    assert "DEBUG" in workspace.env_file.read_text()
    assert edits.undo("../../etc/passwd") is None


def test_an_undone_creation_deletes_the_file(workspace: Workspace, edits: Edits) -> None:
    proposal = edits.propose("Create", {"config": "{}"}, {"config": edits.read("config").digest}, "/")
    assert proposal is not None
    edits.save(proposal)
    undo = edits.undo(edits.log()[0].id)
    assert undo is not None
    edits.save(undo)
    assert not workspace.config_file.exists()


def test_a_change_of_several_files_is_saved_whole_or_not_at_all(workspace: Workspace, edits: Edits) -> None:
    workspace.config_file.symlink_to("/proc/missing/config.json")
    texts: dict[File, str | None] = {"env": "LOG_LEVEL=DEBUG\n", "config": "{}"}
    digests: dict[File, str] = {"env": edits.read("env").digest, "config": "missing"}
    proposal = edits.propose("Change both", texts, digests, "/")
    assert proposal is not None
    with pytest.raises(ConfigError, match=r"could not be saved: No such file"):
        edits.save(proposal)
    assert (workspace.env_file.read_text(), edits.log()) == (ENV, ())
    assert edits.waiting(proposal.id) is proposal


def test_a_file_that_is_not_text_does_not_hide_the_last_edits(workspace: Workspace, edits: Edits) -> None:
    edits.save(proposed(edits, ENV.replace("INFO", "DEBUG")))
    workspace.env_file.write_bytes(b"LOG_LEVEL=\xff\n")
    assert [(each.summary, each.undoable) for each in edits.log()] == [("Change the level", False)]


def test_the_undo_log_is_bounded_private_and_survives_damage(workspace: Workspace, edits: Edits) -> None:
    for number in range(MAX_UNDO + 3):
        edits.save(proposed(edits, f"{ENV}# {number}\n"))
    files = sorted(workspace.edits.iterdir())
    assert len(files) == MAX_UNDO
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert {*files, workspace.edits} <= {*workspace.private()}
    files[0].write_text("{")
    assert len(Edits(workspace, ManualClock()).log()) == MAX_UNDO - 1


def test_the_bundled_catalogue_is_the_start(workspace: Workspace, edits: Edits) -> None:
    workspace.catalog_file.unlink()
    assert edits.document("catalogue") == json.loads(BUNDLED.read_text())
    assert edits.document("config") == {}


def test_nothing_is_proposed_if_nothing_changes(edits: Edits) -> None:
    assert edits.propose("Nothing", {"env": ENV}, {"env": edits.read("env").digest}, "/") is None


@pytest.mark.parametrize(
    "kept",
    [
        "{",
        "[]",
        '{"at": 1}',
        '{"at": "x", "summary": "x", "files": []}',
        '{"at": 1e300, "summary": "x", "files": []}',
        '{"at": 1, "summary": "x", "files": [{"file": "../../etc/passwd", "before": "x", "after": "y"}]}',
    ],
)
def test_a_damaged_undo_file_is_left_out(workspace: Workspace, edits: Edits, kept: str) -> None:
    edits.save(proposed(edits, ENV.replace("INFO", "DEBUG")))
    (workspace.edits / "000002.json").write_text(kept)
    assert [each.id for each in edits.log()] == ["000001"]
    assert edits.undo("000002") is None
    assert edits.undo("000001") is not None

"""The shared folder of the machine: what is copied, and what is out of reach."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest

from handlers.languages import Say
from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.shared_folder import SharedFolderTools
from routing.errors import ToolFailed
from routing.types.decisions import TierDecision
from routing.types.people import Person
from routing.types.tools import ToolScope

GONE = "the folder of SHARED_FOLDER is gone or no longer mounted"
HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e"
"""The beginning of the SHA-256 of "hello"."""
SCOPE = ToolScope(Person(1, "owner", "Ann"), 1, TierDecision("balanced", "default", ""))


def off(tools: SharedFolderTools) -> str | None:
    return asyncio.run(tools._off())


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    (tmp_path / "secret").write_text("secret")
    return tmp_path / "shared"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "workspace" / "files" / "1").mkdir(parents=True)
    return tmp_path / "workspace" / "files" / "1"


@pytest.fixture
def tools(shared: Path, own: Path) -> SharedFolderTools:
    return SharedFolderTools(PersonFiles(own.parent, most_bytes=10_000), lambda: str(shared), own.parent.parent)


def test_a_file_is_listed_and_copied_there_and_back(tools: SharedFolderTools, shared: Path, own: Path) -> None:
    (own / "notes").mkdir()
    (own / "notes" / "a.txt").write_text("hello")
    asked = tools._about_copy(SCOPE, "notes/a.txt")
    assert asked == f"📤 It copies 5 bytes ({HELLO}) to `{shared}/notes/a.txt` on the bot's machine."
    assert list(shared.iterdir()) == []
    assert "Copied notes/a.txt (5 bytes)" in tools.vm_to_host(SCOPE, "/files/notes/a.txt")
    assert (shared / "notes" / "a.txt").read_text() == "hello"
    assert "a.txt  5 bytes" in tools.host_list_files(SCOPE, "notes")
    assert "notes/" in tools.host_list_files(SCOPE)
    (shared / "b.bin").write_bytes(b"\0\1")
    assert "new file" in tools.host_to_vm(SCOPE, "b.bin")
    assert (own / "b.bin").read_bytes() == b"\0\1"


def test_nothing_is_replaced_unless_that_was_said(tools: SharedFolderTools, shared: Path, own: Path) -> None:
    (own / "a").write_text("mine")
    (shared / "a").write_text("theirs!")
    for call in (tools._about_copy, tools.vm_to_host, tools.host_to_vm):
        with pytest.raises(ToolFailed, match="already"):
            call(SCOPE, "a")
    assert ((own / "a").read_text(), (shared / "a").read_text()) == ("mine", "theirs!")
    assert "replaced 4 bytes" in tools.host_to_vm(SCOPE, "a", replace=True)
    (own / "a").write_text("mine")
    assert "It replaces" in tools._about_copy(SCOPE, "a", replace=True)
    assert "Replaced a" in tools.vm_to_host(SCOPE, "a", replace=True)
    assert (shared / "a").read_text() == "mine"


def test_what_changed_after_the_question_is_not_copied(tools: SharedFolderTools, shared: Path, own: Path) -> None:
    (own / "a").write_text("mine")
    confirmed = tools._about_copy(SCOPE, "a", replace=True)
    scope = ToolScope(SCOPE.person, 1, SCOPE.decision, confirmed=confirmed)
    (own / "a").write_text("evil")  # as long as before
    with pytest.raises(ToolFailed, match="changed since the user confirmed"):
        tools.vm_to_host(scope, "a", replace=True)
    assert not (shared / "a").exists()
    (own / "a").write_text("mine")
    (shared / "a").write_text("new there")
    with pytest.raises(ToolFailed, match="changed since the user confirmed"):
        tools.vm_to_host(scope, "a", replace=True)
    assert (shared / "a").read_text() == "new there"
    (shared / "a").unlink()
    assert "Copied a" in tools.vm_to_host(scope, "a", replace=True)


def test_nothing_outside_is_reached(tools: SharedFolderTools, shared: Path, own: Path, tmp_path: Path) -> None:
    (shared / "link").symlink_to(tmp_path / "secret")
    (shared / "up").symlink_to(tmp_path)
    os.link(tmp_path / "secret", shared / "hard")
    os.mkfifo(shared / "pipe")
    for path in ("../secret", "link", "up/secret", str(tmp_path / "secret"), "a/../../secret", "hard", "pipe", "", "x"):
        with pytest.raises(ToolFailed):
            tools.host_to_vm(SCOPE, path)
    assert list(own.iterdir()) == []
    for path in ("..", "up/shared", "/etc"):
        with pytest.raises(ToolFailed):
            tools.host_list_files(SCOPE, path)
    for path in ("link", "up/secret", "up/new", "hard", "pipe"):
        (own / path).parent.mkdir(exist_ok=True)
        (own / path).write_text("bad")
        with pytest.raises(ToolFailed):
            tools.vm_to_host(SCOPE, path, replace=True)
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (tmp_path / "new").exists()
    with pytest.raises(ToolFailed, match="In the shared folder: There is no x"):
        tools.host_to_vm(SCOPE, "x")


def test_the_hint_for_a_path_outside_does_not_name_the_persons_folder(tools: SharedFolderTools) -> None:
    for call in (tools.host_to_vm, tools.host_list_files):
        for path in ("/etc/passwd", "/files/a.txt"):
            with pytest.raises(ToolFailed) as refused:
                call(SCOPE, path)
            assert str(refused.value) == (
                f"In the shared folder: {path} is outside the folder: use a path relative to it."
            )


def test_the_quota_counts(tools: SharedFolderTools, shared: Path, own: Path) -> None:
    (shared / "large").write_bytes(b"x" * 10_001)
    with pytest.raises(ToolFailed, match="the limit is 10,000"):
        tools.host_to_vm(SCOPE, "large")
    assert not (own / "large").exists()


def test_a_setting_that_can_not_be_used_switches_the_tools_off(shared: Path, own: Path, tmp_path: Path) -> None:
    files, workspace = PersonFiles(own.parent), own.parent.parent
    (tmp_path / "way").symlink_to(own)
    for setting, words in {
        "": "is not set",
        "relative": "absolute path",
        str(tmp_path / "missing"): "absolute path",
        str(tmp_path / "secret"): "absolute path",
        str(tmp_path): "must not contain the workspace",
        str(own): "must not contain the workspace",
        str(tmp_path / "way"): "must not contain the workspace",
    }.items():
        tools = SharedFolderTools(files, partial(str, setting), workspace)
        assert words in (off(tools) or ""), setting
        with pytest.raises(ToolFailed, match="There is no shared folder"):
            tools.host_list_files(SCOPE)


def test_a_folder_that_goes_away_is_told_and_used_again_when_it_is_back(tools: SharedFolderTools, shared: Path) -> None:
    assert off(tools) is None
    shared.rmdir()
    assert off(tools) is None, "not looked at for each message: a disk may hang"
    for call in (tools.host_list_files, tools.host_to_vm):
        with pytest.raises(ToolFailed, match=f"There is no shared folder: {GONE}"):
            call(SCOPE, "a")
    assert off(tools) == GONE
    assert "weg oder nicht mehr eingehängt" in Say("de")(off(tools) or "")
    shared.mkdir()
    assert off(tools) is None
    assert "empty folder" in tools.host_list_files(SCOPE)


def test_nothing_is_written_below_the_mount_point_of_a_disk_that_was_unmounted(
    tools: SharedFolderTools, shared: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "a").write_text("mine")
    mounted, real = [str(shared)], os.path.ismount
    monkeypatch.setattr("os.path.ismount", lambda path: str(path) in mounted or real(path))
    assert off(tools) is None
    mounted.clear()
    with pytest.raises(ToolFailed, match=GONE):
        tools.vm_to_host(SCOPE, "a")
    assert list(shared.iterdir()) == []
    mounted.append(str(shared))
    assert "Copied a" in tools.vm_to_host(SCOPE, "a")


def test_the_setting_may_change_while_the_bot_runs(own: Path, tmp_path: Path) -> None:
    setting = [""]
    tools = SharedFolderTools(PersonFiles(own.parent), lambda: setting[0], own.parent.parent)
    assert off(tools) == "SHARED_FOLDER is not set"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(name)
        setting[0] = str(tmp_path / name)
        assert off(tools) is None
        assert f"{name}.txt" in tools.host_list_files(SCOPE)
    setting[0] = ""
    assert off(tools) == "SHARED_FOLDER is not set"

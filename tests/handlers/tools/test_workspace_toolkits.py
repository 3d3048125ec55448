"""The owner's toolkits while files are added, changed, broken and removed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from handlers.tools.authoring.manifests import our_toolkit
from handlers.tools.workspace import WorkspaceToolkits


def write(folder: Path, file: str, *tools: str, name: str = "", **more: object) -> None:
    tasks = [{"name": tool, "description": "Does it.", "execute": {"command": ["true"]}, **more} for tool in tools]
    toolkit = {"name": name or file.partition(".")[0], "description": "Does things.", "tasks": tasks}
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(json.dumps(toolkit))


def used(toolkits: WorkspaceToolkits) -> dict[str, list[str]]:
    return {each.toolkit.name: [tool.name for tool in each.toolkit.tools] for each in toolkits.manifests}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "toolkits"


@pytest.fixture
def toolkits(folder: Path) -> WorkspaceToolkits:
    return WorkspaceToolkits(folder, [our_toolkit("basics")])


def test_a_missing_folder_has_no_toolkits(toolkits: WorkspaceToolkits) -> None:
    assert not toolkits.refresh()
    assert used(toolkits) == {}
    assert toolkits.broken == {}


def test_files_are_added_changed_and_removed(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "b.json", "b1")
    write(folder, "a.json", "a1")
    write(folder, ".hidden.json", "h1")
    write(folder, "notes.txt", "n1")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"], "b": ["b1"]}
    assert not toolkits.refresh()
    write(folder, "b.json", "b1", "b2")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"], "b": ["b1", "b2"]}
    (folder / "a.json").unlink()
    assert toolkits.refresh()
    assert used(toolkits) == {"b": ["b1", "b2"]}


def test_a_change_of_the_same_length_is_seen(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    toolkits.refresh()
    write(folder, "a.json", "a2")
    os.utime(folder / "a.json", ns=(1, 1))
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a2"]}


def test_a_file_that_was_only_touched_changes_nothing(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    toolkits.refresh()
    os.utime(folder / "a.json", ns=(1, 1))
    assert not toolkits.refresh()


def test_a_broken_file_is_named_and_affects_no_other(
    folder: Path, toolkits: WorkspaceToolkits, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder, "a.json", "a1")
    (folder / "b.json").write_text('{"name": "b",')
    (folder / "c.json").mkdir()
    (folder / "d.json").symlink_to(folder / "nowhere")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"]}
    assert toolkits.broken["b.json"].startswith("b.json line 1 column 14: not valid JSON")
    assert toolkits.broken["c.json"] == "c.json is not a file."
    assert toolkits.broken["d.json"] == "d.json can't be read: No such file or directory."
    assert "[Toolkits] b.json line 1 column 14" in caplog.text
    caplog.clear()
    assert not toolkits.refresh()
    assert caplog.text == ""
    write(folder, "b.json", "b1")
    assert toolkits.refresh()
    assert "b.json" not in toolkits.broken
    assert used(toolkits) == {"a": ["a1"], "b": ["b1"]}


def test_the_last_valid_version_stays_in_use(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    toolkits.refresh()
    (folder / "a.json").write_text("{")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"]}
    assert "a.json" in toolkits.broken
    write(folder, "b.json", "a1")
    assert toolkits.refresh()
    assert "b.json: the tool a1 already exists in a.json" in toolkits.broken["b.json"]
    (folder / "a.json").unlink()
    assert toolkits.refresh()
    assert used(toolkits) == {"b": ["a1"]}
    assert toolkits.broken == {}


def test_a_removed_file_has_no_last_valid_version(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    toolkits.refresh()
    (folder / "a.json").unlink()
    toolkits.refresh()
    (folder / "a.json").write_text("{")
    assert toolkits.refresh()
    assert used(toolkits) == {}
    assert list(toolkits.broken) == ["a.json"]


def test_a_duplicate_name_in_a_later_file_is_refused(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "calculate")
    write(folder, "b.json", "same")
    write(folder, "c.json", "same", "other")
    write(folder, "d.json", "d1", name="b")
    write(folder, "e.json", "e1", name="basics")
    toolkits.refresh()
    assert used(toolkits) == {"b": ["same"]}
    assert toolkits.broken == {
        "a.json": "a.json: the tool calculate already exists in our toolkit basics. Give it another name.",
        "c.json": "c.json: the tool same already exists in b.json. Give it another name.",
        "d.json": "d.json: the name b is taken by b.json. Give the toolkit another name.",
        "e.json": "e.json: the name basics is taken by our toolkit basics. Give the toolkit another name.",
    }
    (folder / "b.json").unlink()
    assert toolkits.refresh()
    assert used(toolkits) == {"b": ["d1"], "c": ["same", "other"]}


def test_a_change_to_a_taken_name_keeps_the_last_valid_version(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    write(folder, "b.json", "b1")
    toolkits.refresh()
    write(folder, "b.json", "b1", "a1")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"], "b": ["b1"]}
    assert list(toolkits.broken) == ["b.json"]
    write(folder, "a.json", "a1", "b1")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1", "b1"]}
    assert list(toolkits.broken) == ["b.json"]


def test_an_unreadable_folder_keeps_the_toolkits(folder: Path, toolkits: WorkspaceToolkits) -> None:
    write(folder, "a.json", "a1")
    toolkits.refresh()
    folder.rename(folder.with_name("away"))
    folder.write_text("not a folder")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"]}
    assert toolkits.broken == {"toolkits": "toolkits can't be read: Not a directory."}
    assert not toolkits.refresh()
    folder.unlink()
    folder.with_name("away").rename(folder)
    assert toolkits.refresh()
    assert toolkits.broken == {}


def test_an_ignored_hint_is_logged_once(
    folder: Path, toolkits: WorkspaceToolkits, caplog: pytest.LogCaptureFixture
) -> None:
    hint = {"tiers": {"small": {"inputSchema": {"type": "text"}}}}
    write(folder, "a.json", "a1", capabilityHints=hint)
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"]}
    assert toolkits.broken == {}
    assert caplog.text.count("a.json: the tool a1: its hint for small") == 1
    write(folder, "b.json", "b1")
    assert toolkits.refresh()
    assert caplog.text.count("its hint for small") == 1


def test_a_file_with_an_unexpected_error_does_not_affect_the_others(
    folder: Path, toolkits: WorkspaceToolkits, caplog: pytest.LogCaptureFixture
) -> None:
    strange = {"type": "object", "default": {"anyOf": 5}, "properties": {"a": {"$ref": "#/default"}}}
    write(folder, "a.json", "a1", capabilityHints={"priority": 10**400})
    write(folder, "b.json", "b1", parameters=strange)
    write(folder, "c.json", "c1")
    assert toolkits.refresh()
    assert used(toolkits) == {"a": ["a1"], "c": ["c1"]}
    assert toolkits.broken == {"b.json": "b.json can't be loaded (TypeError)."}
    assert "Traceback" in caplog.text

"""Reading, writing and listing one person's files."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handlers.tools.files.person_files import UNFINISHED, PersonFiles
from handlers.tools.files.tools import MAX_READ_BYTES, MAX_WRITTEN_CHARACTERS, FileTools
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA, BOB, everything
from tests.stories.bad_workspaces import fill, read_only, small_disk


def test_the_size_limit_of_reading(tools: FileTools, own: Path) -> None:
    (own / "a.txt").write_bytes(b"a" * MAX_READ_BYTES)
    assert len(tools.read_file(ADA, "a.txt")) == MAX_READ_BYTES
    (own / "a.txt").write_bytes(b"a" * (MAX_READ_BYTES + 1))
    with pytest.raises(ToolFailed, match=r"^a\.txt has 2,000,001 bytes, more than .* `head -c 20000 FILE` or `sed -n "):
        tools.read_file(ADA, "a.txt")


@pytest.mark.parametrize("path", [".", "", "/files", "notes", "notes/"])
def test_reading_a_folder_suggests_listing(tools: FileTools, own: Path, path: str) -> None:
    (own / "notes").mkdir()
    with pytest.raises(ToolFailed, match=r"is a folder: use list_files\.$"):
        tools.read_file(ADA, path)


def test_a_file_is_written_and_replaced(tools: FileTools, tmp_path: Path) -> None:
    assert tools.write_file(ADA, "notes/new/a.txt", "Grüße") == "Wrote 7 bytes to notes/new/a.txt (new file)."
    assert tools.read_file(ADA, "notes/new/a.txt") == "Grüße"
    said = tools.write_file(ADA, "/files/notes/new/a.txt", "x" * 1234)
    assert said == "Wrote 1,234 bytes to notes/new/a.txt (replaced 7 bytes)."
    file = tmp_path / "files" / "7" / "notes" / "new" / "a.txt"
    assert (file.read_text(encoding="utf-8"), stat.S_IMODE(file.stat().st_mode)) == ("x" * 1234, 0o600)
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in list(file.parents)[:3]} == {0o700}
    assert os.listdir(file.parent) == ["a.txt"]


def test_a_script_stays_executable(tools: FileTools, own: Path) -> None:
    (own / "a.sh").touch()
    (own / "a.sh").chmod(0o4755)
    tools.write_file(ADA, "a.sh", "echo")
    assert stat.S_IMODE((own / "a.sh").stat().st_mode) == 0o755


def test_each_person_has_a_separate_folder(tools: FileTools) -> None:
    tools.write_file(ADA, "a.txt", "Ada's")
    assert tools.list_files(BOB) == ". is an empty folder."
    tools.write_file(BOB, "a.txt", "Bob's")
    assert tools.read_file(ADA, "a.txt") == "Ada's"


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("../8/a.txt", "x", "The path leaves the folder"),
        ("/tmp/a.txt", "x", "/tmp/a.txt is outside the folder"),
        (".", "x", r"\. names a folder: give the name of a file"),
        ("new/", "x", "new/ names a folder: give the name of a file"),
        ("folder", "x", "folder is a folder: use list_files"),
        ("link", "x", "link is a link: links are not followed, use the file itself"),
        ("hard", "x", "hard is a hard link to another file: make a copy and use that"),
        ("pipe", "x", "pipe is a pipe: choose another path"),
        ("file/a.txt", "x", "file is a file, not a folder: choose another path"),
        (f"{UNFINISHED}1", "x", "Names that begin with .tierbot-unfinished- are reserved"),
        ("a.txt", "x" * (MAX_WRITTEN_CHARACTERS + 1), "1,000,001 characters are more than the 1,000,000"),
        ("a.txt", "ab\ud83d", "Character 3 of the content is half a character"),
    ],
)
def test_refused_writes(tools: FileTools, own: Path, path: str, content: str, said: str) -> None:
    (own / "folder").mkdir()
    (own / "file").write_text("old", encoding="utf-8")
    (own / "link").symlink_to("file")
    (own / "hard").hardlink_to(own / "file")
    os.mkfifo(own / "pipe")
    before = everything(own)
    with pytest.raises(ToolFailed, match=f"^{said}"):
        tools.write_file(ADA, path, content)
    assert everything(own) == before
    assert (own / "file").read_text(encoding="utf-8") == "old"


def test_the_content_limit(tools: FileTools) -> None:
    assert tools.write_file(ADA, "a", "€" * MAX_WRITTEN_CHARACTERS) == "Wrote 3,000,000 bytes to a (new file)."


def test_the_quota_in_bytes(tmp_path: Path) -> None:
    tools = FileTools(PersonFiles(tmp_path / "files", most_bytes=1000))
    tools.write_file(ADA, "notes/a", "x" * 600)
    with pytest.raises(ToolFailed, match="Not written: the folder holds 600 bytes, and the limit is 1,000"):
        tools.write_file(ADA, "b", "x" * 401)
    assert tools.write_file(ADA, "notes/a", "x" * 1000)
    assert tools.write_file(BOB, "b", "x" * 1000)


def test_the_quota_in_files(tmp_path: Path) -> None:
    tools = FileTools(PersonFiles(tmp_path / "files", most_files=3))
    for name in ("notes/a", "b"):
        tools.write_file(ADA, name, "x")
    with pytest.raises(ToolFailed, match="Not written: the folder holds 3 files, and the limit is 3"):
        tools.write_file(ADA, "new/c", "x")
    assert tools.write_file(ADA, "b", "y") == "Wrote 1 bytes to b (replaced 1 bytes)."
    assert not (tmp_path / "files" / "7" / "new").exists()


def test_the_quota_counts_folders_of_any_depth(tmp_path: Path, own: Path) -> None:
    (own / "/".join("d" * 70)).mkdir(parents=True)
    with pytest.raises(ToolFailed, match="Not written: the folder holds 70 files, and the limit is 70"):
        FileTools(PersonFiles(tmp_path / "files", most_files=70)).write_file(ADA, "a", "x")


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    with small_disk(tmp_path / "files", 256) as files:
        tools = FileTools(PersonFiles(files))
        tools.write_file(ADA, "a.txt", "old")
        fill(files)
        with pytest.raises(ToolFailed) as caught:
            tools.write_file(ADA, "a.txt", "new" * 10_000)
        assert str(caught.value) == "a.txt was not written: the disk is full. What was there is unchanged."
        assert (tools.read_file(ADA, "a.txt"), os.listdir(files / "7")) == ("old", ["a.txt"])


def test_a_read_only_disk(tmp_path: Path, own: Path) -> None:
    (own / "a.txt").write_text("old", encoding="utf-8")
    tools = FileTools(PersonFiles(tmp_path / "files"))
    with read_only(tmp_path / "files"):
        for path in ("a.txt", "new/a.txt"):
            with pytest.raises(ToolFailed, match="the disk is read-only"):
                tools.write_file(ADA, path, "new")
        assert tools.read_file(ADA, "a.txt") == "old"
        with pytest.raises(
            ToolFailed, match=r"^The person's folder can't be opened: the disk is read-only\. The owner"
        ):
            tools.list_files(BOB)


def test_leftovers_of_a_kill_are_hidden_and_removed_by_the_next_write(tools: FileTools, own: Path) -> None:
    (own / "notes").mkdir()
    for folder in (own, own / "notes"):
        (folder / f"{UNFINISHED}0011").write_text("half", encoding="utf-8")
    assert tools.list_files(ADA, "notes") == "notes is an empty folder."
    tools.write_file(ADA, "notes/a", "x")
    assert os.listdir(own / "notes") == ["a"]
    assert (own / f"{UNFINISHED}0011").exists()


def test_leftovers_of_a_kill_are_removed_from_a_full_folder(tmp_path: Path, own: Path) -> None:
    (own / f"{UNFINISHED}0011").write_text("half" * 200, encoding="utf-8")
    assert FileTools(PersonFiles(tmp_path / "files", most_bytes=1000)).write_file(ADA, "a", "x" * 900)


def test_concurrent_writes_count_towards_the_quota(tools: FileTools, own: Path) -> None:
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda number: tools.write_file(ADA, f"{number % 5}.txt", str(number) * 500), range(40)))
    assert sorted(os.listdir(own)) == [f"{number}.txt" for number in range(5)]
    for file in everything(own):
        text = file.read_text(encoding="utf-8")
        assert text in {str(number) * 500 for number in range(40)}


def test_writes_are_atomic(tools: FileTools, own: Path) -> None:
    tools.write_file(ADA, "a", "0" * 5000)
    seen: set[str] = set()
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            seen.add((own / "a").read_text(encoding="utf-8"))

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(60):
        tools.write_file(ADA, "a", str(number % 10) * 5000)
    ended.set()
    reader.join()
    assert seen
    assert {(len(text), len(set(text))) for text in seen} == {(5000, 1)}


def test_a_listing(tools: FileTools, own: Path) -> None:
    for name in ("b", "Z"):
        (own / name).mkdir()
    (own / "a.txt").write_bytes(b"x" * 1234)
    (own / "link").symlink_to("/etc/passwd")
    os.mkfifo(own / "pipe")
    (own / "new\nline").touch()
    for path in (*everything(own), own):
        os.utime(path, (0, 1_795_269_845), follow_symlinks=False)
    assert tools.list_files(ADA) == (
        ". holds 6 (times are UTC):\n"
        "folder  Z/  2026-11-21 14:04\n"
        "folder  b/  2026-11-21 14:04\n"
        "file  a.txt  1,234 bytes  2026-11-21 14:04\n"
        "link  link  11 bytes  2026-11-21 14:04\n"
        "file  new\\nline  0 bytes  2026-11-21 14:04\n"
        "pipe  pipe  0 bytes  2026-11-21 14:04"
    )
    assert tools.list_files(ADA, "a.txt") == "file  a.txt  1,234 bytes  2026-11-21 14:04"
    assert tools.list_files(ADA, "link") == "link  link  11 bytes  2026-11-21 14:04"
    assert tools.list_files(ADA, "/files/b") == "b is an empty folder."


def test_a_long_listing_is_cut(tools: FileTools, own: Path) -> None:
    for number in range(1203):
        (own / f"{number:04}").touch()
    lines = (tools.list_files(ADA)).splitlines()
    assert (len(lines), lines[0], lines[-1]) == (202, ". holds 1,203 (times are UTC):", "… and 1,003 more")
    assert lines[-2].startswith("file  0199  ")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("note", r"There is no note\. The nearest names there: notes\."),
        ("notes/b", r"There is no notes/b\."),
        ("link/a", "link is a link, not a folder"),
        ("..", "The path leaves the folder"),
    ],
)
def test_refused_listings(tools: FileTools, own: Path, path: str, said: str) -> None:
    (own / "notes").mkdir()
    (own / "link").symlink_to("/etc")
    with pytest.raises(ToolFailed, match=said):
        tools.list_files(ADA, path)


def test_refusals_reveal_no_host_paths(tools: FileTools, own: Path, tmp_path: Path) -> None:
    (own / "a").mkdir()
    (own / "link").symlink_to(tmp_path)
    asks = (tools.read_file, tools.list_files, lambda scope, path: tools.write_file(scope, path + "/", "x"))
    for path in ("a", "a/b", "link", "link/x", "b", "\0", "../x", str(tmp_path / "other")):
        for ask in asks:
            try:
                said = ask(ADA, path)
            except ToolFailed as refused:
                said = str(refused)
            assert str(tmp_path) not in said.replace(str(tmp_path / "other"), "")

"""People cannot leave their folder: not by a path, a link, a hard link or a race."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, product
from pathlib import Path

import pytest

from handlers.tools.files.person_files import PersonFiles
from handlers.tools.files.tools import FileTools
from handlers.tools.folder import file_in, folder_at, own_folder, parts_of, printable
from routing.errors import ToolFailed
from tests.handlers.tools.files import ADA

SECRET = "the owner's token"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside, with a secret in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text(SECRET, encoding="utf-8")
    return folder


def read(files: Path, path: str) -> str:
    """Opens `path` for person 7 as tools do."""
    parts = parts_of(path)
    with own_folder(files, 7) as top, folder_at(top, parts[:-1]) as folder, file_in(folder, parts) as file:
        return os.read(file, 1000).decode()


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.txt", ("a.txt",)),
        ("./notes//a.txt", ("notes", "a.txt")),
        ("notes/../a.txt", ("a.txt",)),
        ("notes/", ("notes",)),
        ("/files/notes/a.txt", ("notes", "a.txt")),
        ("/files", ()),
        ("/files/", ()),
        ("files/a.txt", ("files", "a.txt")),
        (".", ()),
        ("", ()),
        ("..a", ("..a",)),
        ("a\\..\\b", ("a\\..\\b",)),
        ("~/a", ("~", "a")),
        (" a ", (" a ",)),
        ("Änderung – 東京 👩‍💻.txt", ("Änderung – 東京 👩‍💻.txt",)),
        ("a" * 255, ("a" * 255,)),
    ],
)
def test_a_path_inside(path: str, parts: tuple[str, ...]) -> None:
    assert parts_of(path) == parts


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("..", r"leaves the folder by `\.\.`"),
        ("../8/a.txt", "leaves the folder"),
        ("a/../../8/a.txt", "leaves the folder"),
        ("/files/../etc/passwd", "leaves the folder"),
        ("/etc/passwd", "/etc/passwd is outside the folder: use a path relative to it, or one below /files/"),
        ("//files/a.txt", "is outside the folder"),
        ("/filesystem", "is outside the folder"),
        ("/proc/self/root/etc/passwd", "is outside the folder"),
        ("a\0.txt", "control character"),
        ("a\n.txt", "control character"),
        ("a\x7f", "control character"),
        ("a\u2028b", "control character"),
        ("a\u202etxt.exe", "control character"),
        ("a\ud800", "control character"),
        ("a" * 256, "longer than 255 bytes"),
        ("ä" * 128, "longer than 255 bytes"),
        ("a/" * 40, "more than 32 folders deep"),
        ("a/" * 600, "longer than 1024 characters"),
    ],
)
def test_paths_outside_are_refused(path: str, said: str) -> None:
    with pytest.raises(ToolFailed, match=said):
        parts_of(path)


def test_a_name_is_shown_on_one_line() -> None:
    assert printable("a\nb\x1b[0m\u202e") == "a\\nb\\x1b[0m\\u202e"
    assert printable(os.fsdecode(b"caf\xe9")) == "caf\\xe9"
    assert printable("Änderung 東京 👩‍💻") == "Änderung 東京 👩‍💻"


def test_the_folder_is_private(tmp_path: Path) -> None:
    with own_folder(tmp_path / "files", 7) as own:
        assert os.fstat(own).st_mode & 0o777 == 0o700
    assert (tmp_path / "files" / "7").is_dir()


def links(own: Path, outside: Path) -> None:
    """Everything in the folder that does not belong there."""
    (own / "link.txt").symlink_to(outside / "a.txt")
    (own / "relative.txt").symlink_to("../../outside/a.txt")
    (own / "folder").symlink_to(outside)
    (own / "up").symlink_to("..")
    (own / "root").symlink_to("/proc/self/root")
    (own / "loop").symlink_to("loop")
    (own / "nowhere").symlink_to("/does/not/exist")
    (own / "hard.txt").hardlink_to(outside / "a.txt")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("link.txt", "link.txt is a link: links are not followed, use the file itself."),
        ("relative.txt", "relative.txt is a link: links are not followed, use the file itself."),
        ("loop", "loop is a link: links are not followed, use the file itself."),
        ("nowhere", "nowhere is a link: links are not followed, use the file itself."),
        ("folder/a.txt", "folder is a link, not a folder: links are not followed, use the file itself."),
        ("up/7/link.txt", "up is a link, not a folder: links are not followed, use the file itself."),
        ("root/etc/passwd", "root is a link, not a folder: links are not followed, use the file itself."),
        ("hard.txt", "hard.txt is a hard link to another file: make a copy and use that."),
    ],
)
def test_no_link_is_followed(tmp_path: Path, own: Path, outside: Path, path: str, said: str) -> None:
    links(own, outside)
    with pytest.raises(ToolFailed) as caught:
        read(tmp_path / "files", path)
    assert str(caught.value) == said


def test_the_persons_folder_must_not_be_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "7").symlink_to(outside)
    with pytest.raises(ToolFailed, match=r"The person's folder can't be opened: Not a directory\. The owner has to"):
        read(tmp_path / "files", "a.txt")


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, own: Path, kind: str) -> None:
    make: dict[str, Callable[[Path], object]] = {
        "pipe": os.mkfifo,
        "socket": lambda path: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)),
        "device": lambda path: os.mknod(path, 0o20600, os.makedev(1, 3)),
        "folder": lambda path: path.mkdir(),
    }
    try:
        make[kind](own / "a")
    except PermissionError as error:
        pytest.skip(f"a {kind} can't be made here: {error.strerror}")
    with pytest.raises(ToolFailed) as caught:
        read(tmp_path / "files", "a")
    refusals = {"folder": "a is a folder: use list_files.", "socket": "a can't be read: it is not a regular file."}
    assert str(caught.value) == refusals.get(kind, f"a is a {kind}: choose another path.")


def test_a_file_is_not_a_folder(tmp_path: Path, own: Path) -> None:
    (own / "a.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ToolFailed, match=r"^a\.txt is a file, not a folder: choose another path\.$"):
        read(tmp_path / "files", "a.txt/b.txt")


def test_a_missing_file_gets_suggestions(tmp_path: Path, own: Path) -> None:
    (own / "notes").mkdir()
    (own / "notes" / "Shopping.txt").touch()
    with pytest.raises(ToolFailed, match=r"^There is no note\. The nearest names there: notes\.$"):
        read(tmp_path / "files", "note/a.txt")
    with pytest.raises(
        ToolFailed, match=r"^There is no notes/shoping\.txt\. The nearest names there: Shopping\.txt\.$"
    ):
        read(tmp_path / "files", "notes/shoping.txt")
    with pytest.raises(ToolFailed, match=r"^There is no qq\. Use list_files\.$"):
        read(tmp_path / "files", "qq")


def test_descriptors_are_closed(tmp_path: Path, own: Path, outside: Path) -> None:
    links(own, outside)
    (own / "a" / "b").mkdir(parents=True)
    (own / "a" / "b" / "c.txt").write_text("x", encoding="utf-8")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a/b/c.txt", "a/b/d.txt", "a/x/c.txt", "folder/a.txt", "hard.txt", "link.txt", "a"):
        with suppress(ToolFailed):
            read(tmp_path / "files", path)
    assert len(os.listdir("/proc/self/fd")) == before


def calls_of(act: Callable[[], object], before: Callable[[int], None]) -> int:
    """The number of system calls of `act`. Runs `before` before each one, with 1, 2, 3, …"""
    calls = 0

    def profile(_frame: object, event: str, called: object) -> None:  # Python does not report what `before` calls
        nonlocal calls
        if event == "c_call" and getattr(called, "__module__", "") == "posix":
            calls += 1
            before(calls)

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls


def raced(act: Callable[[], str], states: Sequence[Callable[[], None]]) -> set[str]:
    """Runs `act` while someone changes a path, and returns all its results and refusals. Each of `states` sets the
    path to another state. The path is in one state, changes to the next before a system call, and to a third one
    shortly after or never. Every combination happens once."""
    seen: set[str] = set()

    def attempt() -> None:
        try:
            seen.add(act())
        except ToolFailed as refusal:
            seen.add(str(refusal))

    def run(first: Callable[[], None], changes: dict[int, Callable[[], None]]) -> int:
        first()
        return calls_of(attempt, lambda call: changes[call]() if call in changes else None)

    for first, second, third in product(states, repeat=3):
        if first is not second and second is not third:
            for at in count(1):
                if max(run(first, {at: second, at + after: third}) for after in (1, 99)) < at:
                    assert at > 5, "the system calls were not seen"
                    break
    return seen


def states_of(path: Path, *makes: Callable[[Path], object]) -> list[Callable[[], None]]:
    """Functions that replace what is at `path`: with nothing, or with what one of `makes` makes. A folder is moved
    aside: files inside it still exist."""
    aside = path.with_name("aside")

    def clear() -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(aside, ignore_errors=True)
            path.rename(aside)
        path.unlink(missing_ok=True)

    def put(make: Callable[[Path], object]) -> None:
        clear()
        make(path)

    return [clear, *(partial(put, make) for make in makes)]


def notes(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.txt").write_text("mine", encoding="utf-8")


NOTES_REFUSED = {
    "There is no notes. Use list_files.",
    "There is no notes. The nearest names there: notes.",
    "notes is a link, not a folder: links are not followed, use the file itself.",
    "notes changed while it was being opened: try again.",
}
FILE_REFUSED = {
    "There is no a.txt. Use list_files.",
    "There is no a.txt. The nearest names there: a.txt.",
    "a.txt changed while it was being opened: try again.",
}


def test_a_folder_swapped_for_a_link_is_never_followed(tmp_path: Path, own: Path, outside: Path) -> None:
    states = states_of(own / "notes", notes, lambda path: path.symlink_to(outside))
    assert raced(lambda: read(tmp_path / "files", "notes/a.txt"), states) == NOTES_REFUSED | {"mine"}


@pytest.mark.parametrize(
    ("link", "refused"),
    [
        (Path.symlink_to, "a.txt is a link: links are not followed, use the file itself."),
        (Path.hardlink_to, "a.txt is a hard link to another file: make a copy and use that."),
    ],
)
def test_a_file_swapped_for_a_link_is_never_read(
    tmp_path: Path, own: Path, outside: Path, link: Callable[[Path, Path], None], refused: str
) -> None:
    states = states_of(own / "a.txt", lambda path: path.write_text("mine"), lambda path: link(path, outside / "a.txt"))
    assert raced(lambda: read(tmp_path / "files", "a.txt"), states) == FILE_REFUSED | {"mine", refused}


def test_nothing_is_written_where_a_swapped_link_leads(tmp_path: Path, own: Path, outside: Path) -> None:
    tools = FileTools(PersonFiles(tmp_path / "files"))
    states = states_of(own / "notes", notes, lambda path: path.symlink_to(outside))
    assert raced(lambda: tools.write_file(ADA, "notes/b.txt", "x"), states) == NOTES_REFUSED | {
        "Wrote 1 bytes to notes/b.txt (new file).",
        "notes/b.txt was not written: No such file or directory. What was there is unchanged.",
    }
    assert (os.listdir(outside), (outside / "a.txt").read_text(encoding="utf-8")) == (["a.txt"], SECRET)


def test_a_link_swapped_for_the_persons_folder_keeps_its_permissions(own: Path, outside: Path) -> None:
    outside.chmod(0o755)
    states = states_of(own, lambda path: path.mkdir(0o755), lambda path: path.symlink_to(outside))
    assert raced(lambda: FileTools(PersonFiles(own.parent)).list_files(ADA), states) == {
        ". is an empty folder.",
        "The person's folder can't be opened: No such file or directory. The owner has to fix it.",
        "The person's folder can't be opened: Not a directory. The owner has to fix it.",
    }
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o777, 0o4755])
def test_a_folder_without_permissions_is_made_accessible_to_its_owner_only(own: Path, mode: int) -> None:
    own.chmod(mode)
    assert "Wrote 2 bytes" in FileTools(PersonFiles(own.parent)).write_file(ADA, "a.txt", "hi")
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path, outside: Path) -> None:
    outside.chmod(0o755)
    files = tmp_path / "files"
    files.mkdir()
    (files / "7").symlink_to(outside)
    with pytest.raises(ToolFailed, match="can't be opened"), own_folder(files, 7):
        pass
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755

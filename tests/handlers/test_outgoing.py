"""Files that tools add to a reply: their limits and their names."""

from __future__ import annotations

import pytest

from handlers.outgoing import MAX_FILES, OutgoingFiles
from routing.errors import ToolFailed
from routing.text import MAX_FILE_NAME_BYTES, file_name
from routing.types.messages import OutgoingFile


def test_files_are_collected_in_order_up_to_the_limits() -> None:
    files = OutgoingFiles(most_bytes=2 * 2**20)
    for n in range(MAX_FILES):
        files.attach(OutgoingFile(f"../{n}.txt", "text/plain", b"x"))
    assert [each.name for each in files.files] == [f"{n}.txt" for n in range(MAX_FILES)]
    with pytest.raises(ToolFailed, match="at most 8 files"):
        files.attach(OutgoingFile("more.txt", "text/plain", b"x"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "a.bin is empty"),
        (b"x" * (2 * 2**20 + 1), r"a.bin has 2.0 MB, and a file sent to this chat may have at most 2 MB"),
    ],
)
def test_what_the_platform_would_refuse_is_refused_at_once(data: bytes, words: str) -> None:
    files = OutgoingFiles(most_bytes=2 * 2**20)
    with pytest.raises(ToolFailed, match=words):
        files.attach(OutgoingFile("a.bin", "", data))
    assert files.files == ()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ada\\My plan.docx", "My plan.docx"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ('a"b\r\nX: y.txt', "a'b__X_ y.txt"),
        ("photo‮gpj.exe", "photo_gpj.exe"),
        ("nul\0l.txt", "null.txt"),
        ("dir/", "dir"),
        ("Übersicht 日本.csv", "Übersicht 日本.csv"),
        ("half\ud800.txt", "half�.txt"),
    ],
)
def test_a_file_name_is_plain(given: str, name: str) -> None:
    assert file_name(given) == name


def test_a_long_name_keeps_its_ending() -> None:
    name = file_name("日" * 5000)
    assert len(name.encode()) <= MAX_FILE_NAME_BYTES
    assert file_name("x" * 500 + ".tar.gz").endswith("x.gz")
    assert len(file_name("x" * 500 + ".tar.gz").encode()) == MAX_FILE_NAME_BYTES

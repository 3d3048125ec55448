"""Documents of all formats, as read_file shows them; damaged, protected and hostile ones."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from handlers.tools.files import document_reader, documents
from handlers.tools.files.document_reader import Unreadable, read
from handlers.tools.files.documents import kind_of, text_part
from handlers.tools.files.tools import FileTools
from routing.errors import ToolFailed
from tests.handlers.tools.file_tools.sample_documents import pdf, sheet, slides, tarred, word, zipped
from tests.handlers.tools.files import ADA

PAGE = (
    b"<html><head><title>The  plan</title><script>bad()</script></head><body><p>One</p><p>T\xc3\xb6o</p></body></html>"
)


@pytest.mark.parametrize(
    ("name", "made", "shown"),
    [
        ("a.pdf", lambda: pdf(["Hello"]), "[Page 1]\nHello"),
        ("a.docx", lambda: word(["One"], [["a", "b"], ["c", "d"]]), "# Title\nOne\na | b\nc | d"),
        ("a.xlsx", lambda: sheet([["x", 1], [None, 2.5, None]]), "[Sheet Sheet]\nx\t1\n\t2.5"),
        ("a.pptx", lambda: slides(["First", "Second"]), "[Slide 1]\nFirst\n[Slide 2]\nSecond"),
        ("a.zip", lambda: zipped({"x.txt": b"123"}), "An archive with 1 entries:\n'x.txt': 3 bytes"),
        ("a.tgz", lambda: tarred({"../x": b"123"}), "An archive with these entries:\n'../x': 3 bytes"),
        ("a.pdf", lambda: pdf([""]), "[No text on these pages. They are probably scanned, that is, pictures of text.]"),
    ],
)
def test_a_document_is_read(own: Path, tools: FileTools, name: str, made: Callable[[], bytes], shown: str) -> None:
    (own / name).write_bytes(made())
    assert tools.read_file(ADA, name) == shown


def test_a_long_pdf_is_read_page_by_page(own: Path, tools: FileTools) -> None:
    (own / "a.pdf").write_bytes(pdf([f"Text {n}" for n in range(1, 13)]))
    first = tools.read_file(ADA, "a.pdf")
    assert "Text 5" in first
    assert "Text 6" not in first
    assert first.endswith('[Part 1 of 3 (pages 1 to 5 of 12). read_file with path="a.pdf" and part=2 has the next.]')
    assert tools.read_file(ADA, "a.pdf", 3).endswith("Text 12\n[Part 3 of 3 (pages 11 to 12 of 12).]")
    with pytest.raises(ToolFailed, match="it has 3 parts, and there is no part 4"):
        tools.read_file(ADA, "a.pdf", 4)


def test_a_web_page_is_read_as_text_only_by_parts(own: Path, tools: FileTools) -> None:
    (own / "a.html").write_bytes(PAGE)
    assert tools.read_file(ADA, "a.html") == PAGE.decode()
    assert tools.read_file(ADA, "a.html", 1) == "# The plan\nOne\nTöo"


def test_a_long_text_is_read_by_parts_that_join_to_the_whole(own: Path, tools: FileTools) -> None:
    text = "".join(f"line {n}\n" for n in range(9_000)) + "x" * 40_000
    parts = text_part(text, "a", 1).parts
    assert "".join(text_part(text, "a", n).text for n in range(1, parts + 1)) == text
    (own / "a.txt").write_text(text)
    assert f"[Part 2 of {parts}. read_file" in tools.read_file(ADA, "a.txt", 2)


def test_every_part_of_a_long_document_is_there() -> None:
    data = sheet([[f"cell {n}"] for n in range(3_000)])
    parts = read("zip", io.BytesIO(data), 1).parts
    assert parts > 1
    texts = [read("zip", io.BytesIO(data), n).text for n in range(1, parts + 1)]
    assert "\n".join(texts).splitlines()[1:] == [f"cell {n}" for n in range(3_000)]


def test_a_protected_pdf_says_so(own: Path, tools: FileTools) -> None:
    (own / "a.pdf").write_bytes(pdf(["secret"], password="pw"))
    with pytest.raises(ToolFailed, match=r"a\.pdf can't be read: it is protected by a password\."):
        tools.read_file(ADA, "a.pdf")


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.tar.gz"])
def test_a_damaged_document_says_so(own: Path, tools: FileTools, name: str) -> None:
    whole = {"a.pdf": b"%PDF-1.7\n" + b"junk" * 99, "a.docx": word(["x"])[:500], "a.tar.gz": tarred({"x": b"1"})[:20]}
    (own / name).write_bytes(whole[name])
    with pytest.raises(ToolFailed, match="can't be read: it is damaged"):
        tools.read_file(ADA, name)


BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'


def test_bombs_are_refused() -> None:
    with pytest.raises(Unreadable, match="declarations"):
        read("zip", io.BytesIO(zipped({"word/document.xml": BOMB})), 1)
    many = zipped({"word/document.xml": b"<x/>"} | {f"{n}.xml": b"" for n in range(document_reader.MAX_ENTRIES)})
    with pytest.raises(Unreadable, match="too large once it is unpacked"):
        read("zip", io.BytesIO(many), 1)


def test_a_document_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_reader, "MAX_UNPACKED_BYTES", 100_000)
    with pytest.raises(Unreadable, match="too large once it is unpacked"):
        read("zip", io.BytesIO(zipped({"word/document.xml": b" " * 200_000})), 1)


def test_a_page_that_unpacks_to_gigabytes_ends_the_reader_and_not_the_bot(own: Path, tools: FileTools) -> None:
    packed = zlib.compress(zlib.compress(b"(x) Tj " * 2**24, 9), 9)
    filters = b"/Filter [/FlateDecode /FlateDecode]"
    page = pdf(["x"]).replace(b"BT /F1 12 Tf 20 700 Td (x) Tj ET", packed)
    (own / "a.pdf").write_bytes(page.replace(b"/Length 32", filters + b"/Length %d" % len(packed)))
    try:
        shown = tools.read_file(ADA, "a.pdf")
    except ToolFailed as failed:
        shown = str(failed)
    assert len(shown) < 200_000


def test_a_document_that_takes_too_long_is_given_up(
    own: Path, tools: FileTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own / "a.pdf").write_bytes(pdf(["x"]))
    monkeypatch.setattr(documents, "SECONDS", 0.001)
    with pytest.raises(ToolFailed, match="it takes longer than"):
        tools.read_file(ADA, "a.pdf")


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.txt", b"%PDF-1.4", "pdf"),
        ("a.pdf", b"hello", None),
        ("a", b"PK\x03\x04", "zip"),
        ("a.HTM", b"<html>", "html"),
        ("a.tar.xz", b"\xfd7zXZ\x00", "tar"),
        ("a.tgz", b"plain text", None),
        ("a.csv", b"a,b", None),
    ],
)
def test_the_content_tells_the_kind(name: str, head: bytes, kind: str | None) -> None:
    assert kind_of(name, head) == kind

"""Reads one part of a document from standard input and prints it as JSON: `python document_reader.py KIND PART`. The
KIND `page` prints a page of a PDF as a picture.

A process of its own with hard limits, because documents are hostile until proven otherwise. It imports nothing of this
project, so that it starts quickly, and gets no environment.
"""

from __future__ import annotations

import base64
import io
import json
import resource
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any, NamedTuple

MEMORY_BYTES = 768 * 2**20
CPU_SECONDS = 20
PART_CHARACTERS = 15_000
PDF_PAGES = 5
"""Pages of a part. Later parts of a PDF are read without the earlier ones."""
PICTURE_PIXELS = 1_600
"""The longer side of a page's picture."""
MAX_CHARACTERS = 5_000_000
MAX_UNPACKED_BYTES = 200 * 2**20
MAX_ENTRIES = 5_000
MAX_LISTED = 500
_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")
_DROPPED = ("script", "style", "noscript", "template", "head", "svg")
_BREAKS = frozenset(
    ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "section", "pre", "article")
)


class Unreadable(Exception):
    """The document can't be read; the text is a clause."""


class Part(NamedTuple):
    """`title` says what the part covers. `scanned` is the number of pages of a PDF without any text, else 0."""

    text: str
    parts: int
    title: str = ""
    scanned: int = 0


def read(kind: str, stream: IO[bytes], part: int) -> Part:
    """Raises Unreadable, and whatever the libraries raise about a damaged document."""
    if kind == "pdf":
        return _pdf(stream, part)
    if kind == "zip":
        return _chosen(_zip(stream), part)
    return _chosen({"tar": _tar, "html": _html}[kind](stream), part)


def _chosen(segments: Iterable[str], part: int) -> Part:
    """Joins segments to parts of PART_CHARACTERS at most."""
    parts, now, size, total, cut = [], list[str](), 0, 0, False
    for segment in segments:
        total += len(segment)
        for at in range(0, len(segment), PART_CHARACTERS):
            piece = segment[at : at + PART_CHARACTERS]
            if now and size + len(piece) > PART_CHARACTERS:
                parts.append("\n".join(now))
                now, size = [], 0
            now.append(piece)
            size += len(piece) + 1
        if total > MAX_CHARACTERS:
            cut = True
            break
    parts.append("\n".join(now))
    if not 1 <= part <= len(parts):
        raise Unreadable(f"it has {len(parts)} parts, and there is no part {part}")
    ending = "\n[The rest of this document is too long to read.]" if cut and part == len(parts) else ""
    return Part(parts[part - 1] + ending, len(parts))


def _pdf(stream: IO[bytes], part: int) -> Part:
    import pypdf
    from pypdf.errors import PyPdfError

    reader = pypdf.PdfReader(stream, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is protected by a password")
    pages = len(reader.pages)
    parts = max(1, -(-pages // PDF_PAGES))
    if not 1 <= part <= parts:
        raise Unreadable(f"it has {parts} parts, and there is no part {part}")
    first = (part - 1) * PDF_PAGES
    last = min(pages, first + PDF_PAGES)
    texts, found = [], False
    for number in range(first, last):
        try:
            text = reader.pages[number].extract_text().strip()
        except (PyPdfError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            text = "[This page can't be read.]"
        found = found or bool(text)
        texts.append(f"[Page {number + 1}]\n{text[:MAX_CHARACTERS]}".strip())
    title = f"pages {first + 1} to {last} of {pages}" if pages > 1 else "1 page"
    if not found:
        none = "[No text on these pages. They are probably scanned, that is, pictures of text.]"
        return Part(none, parts, title, pages if part == 1 else 0)
    return Part("\n\n".join(texts)[: 10 * PART_CHARACTERS], parts, title)


def page_picture(stream: IO[bytes], number: int) -> bytes:
    """A page of a PDF, counted from 1, as JPEG."""
    import pypdfium2

    with pypdfium2.PdfDocument(stream.read()) as document:
        page = document[number - 1]
        picture = page.render(scale=PICTURE_PIXELS / max(page.get_size())).to_pil().convert("RGB")
    made = io.BytesIO()
    picture.save(made, "JPEG", quality=80)
    return made.getvalue()


def _zip(stream: IO[bytes]) -> Iterable[str]:
    """An Office document, or the list of an archive."""
    with zipfile.ZipFile(stream) as archive:
        names = frozenset(archive.namelist()[: 2 * MAX_ENTRIES])
        office = next((reader for name, reader in _OFFICE.items() if name in names), None)
        if office is None:
            return _zip_list(archive)
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
            raise Unreadable("it would be too large once it is unpacked")
        for entry in entries:
            if entry.filename.lower().endswith((".xml", ".rels")):
                with archive.open(entry) as xml:
                    beginning = xml.read(4096).upper()
                if any(sign in beginning for sign in _DECLARATIONS):
                    raise Unreadable("it contains declarations that no Office program writes")
    stream.seek(0)
    return office(stream)


def _zip_list(archive: zipfile.ZipFile) -> list[str]:
    entries = archive.infolist()
    lines = [f"{entry.filename!r}: {entry.file_size:,} bytes" for entry in entries[:MAX_LISTED]]
    more = [f"… and {len(entries) - MAX_LISTED:,} more"] if len(entries) > MAX_LISTED else []
    return [f"An archive with {len(entries):,} entries:", *lines, *more]


def _tar(stream: IO[bytes]) -> list[str]:
    lines = []
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        for entry in islice(archive, MAX_LISTED):
            lines.append(f"{entry.name!r}: {'a folder' if entry.isdir() else f'{entry.size:,} bytes'}")
        more = ["… and more"] if len(lines) == MAX_LISTED and archive.next() is not None else []
    return ["An archive with these entries:", *lines, *more]


def _docx(stream: IO[bytes]) -> Iterator[str]:
    import docx
    from docx.table import Table

    for block in docx.Document(stream).iter_inner_content():
        if isinstance(block, Table):
            yield from (" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows)
            continue
        name = (block.style.name or "") if block.style is not None else ""
        heading = "#" * int(name[-1]) + " " if name.startswith("Heading ") and name[-1].isdecimal() else ""
        if block.text.strip():
            yield heading + block.text.strip()


def _pptx(stream: IO[bytes]) -> Iterator[str]:
    import pptx

    for number, slide in enumerate(pptx.Presentation(stream).slides, 1):
        words = [text for shape in slide.shapes for text in _shape(shape, 0)]
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
            words.append(f"(Notes: {notes.text.strip()})")
        yield "\n".join([f"[Slide {number}]", *words])


def _shape(shape: Any, depth: int) -> Iterator[str]:
    if getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
        yield shape.text_frame.text.strip()
    if getattr(shape, "has_table", False):
        yield from (" | ".join(cell.text.strip() for cell in row.cells) for row in shape.table.rows)
    if depth < 10:
        for each in getattr(shape, "shapes", ()):
            yield from _shape(each, depth + 1)


def _xlsx(stream: IO[bytes]) -> Iterator[str]:
    import openpyxl

    book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        yield f"[Sheet {sheet.title}]"
        for row in sheet.iter_rows(values_only=True):
            line = "\t".join("" if value is None else str(value) for value in row).rstrip("\t")
            if line:
                yield line


def _html(stream: IO[bytes]) -> Iterator[str]:
    from lxml import etree, html

    data = stream.read()
    if not data.strip():
        return
    encoding = "utf-8" if _is_utf8(data) else None
    root = html.document_fromstring(data, parser=html.HTMLParser(encoding=encoding, huge_tree=False))
    if title := root.findtext(".//title"):
        yield f"# {' '.join(title.split())}"
    etree.strip_elements(root, *_DROPPED, etree.Comment, with_tail=False)
    words: list[str] = []
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag in _BREAKS:
            words.append("\n")
        words.append((element.text if event == "start" else element.tail) or "")
    for line in "".join(words).split("\n"):
        if plain := " ".join(line.split()):
            yield plain


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_OFFICE = {"word/document.xml": _docx, "xl/workbook.xml": _xlsx, "ppt/presentation.xml": _pptx}


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        kind, number = sys.argv[1], int(sys.argv[2])
        given = sys.stdin.buffer if sys.stdin.buffer.seekable() else io.BytesIO(sys.stdin.buffer.read())
        if kind == "page":
            answer: dict[str, object] = {"jpeg": base64.b64encode(page_picture(given, number)).decode()}
        else:
            answer = read(kind, given, number)._asdict()
    except Unreadable as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": "reading it takes too much memory"}
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())

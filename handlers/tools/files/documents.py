"""Text of documents, part by part: PDF, Word, Excel, PowerPoint and web pages, and what is in an archive."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from handlers.tools.files.document_reader import CPU_SECONDS, PART_CHARACTERS
from routing.errors import ToolFailed

Kind = Literal["pdf", "zip", "tar", "html"]
SECONDS = CPU_SECONDS + 5.0
AT_ONCE = 2
"""Documents read at the same time."""
_READER = Path(__file__).with_name("document_reader.py")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz")
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
"""How gzip, bzip2 and xz begin."""
_TAR_MAGIC = slice(257, 262)
HEAD_BYTES = 512
_slots = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """One of the `parts` of a document, counted from 1; `title` says which pages it has. `scanned` is the number of
    pages of a PDF without any text, else 0."""

    text: str
    part: int = 1
    parts: int = 1
    title: str = ""
    scanned: int = 0

    def described(self, path: str) -> str:
        """The text for a model, with how to read on."""
        return f"{self.text}\n{note}" if (note := self.note(path)) else self.text

    def note(self, path: str) -> str:
        """Which part this is and how to get the next one; empty if there is only this one."""
        if self.parts == 1:
            return ""
        title = f" ({self.title})" if self.title else ""
        more = f' read_file with path="{path}" and part={self.part + 1} has the next.' if self.part < self.parts else ""
        return f"[Part {self.part} of {self.parts}{title}.{more}]"


def kind_of(name: str, head: bytes) -> Kind | None:
    """The kind of a document by its first HEAD_BYTES and its name; None for text and everything else."""
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if head[_TAR_MAGIC] == b"ustar" or (head.startswith(_PACKED) and name.lower().endswith(_ARCHIVES)):
        return "tar"
    return "html" if name.lower().endswith((".html", ".htm", ".xhtml")) else None


def read_document(document: int | bytes, kind: Kind, name: str, part: int = 1) -> DocumentPart:
    """A part of a document, which is an open file or its content; blocks. Raises ToolFailed with what is wrong."""
    if isinstance(document, int):
        os.lseek(document, 0, os.SEEK_SET)
        found = _read(kind, part, name, stdin=document)
    else:
        found = _read(kind, part, name, input=document)
    return DocumentPart(found["text"].replace("\0", ""), part, found["parts"], found["title"], found["scanned"])


def page_picture(pdf: bytes, page: int, name: str) -> bytes:
    """A page of a PDF, counted from 1, as JPEG; blocks. Raises ToolFailed."""
    return base64.b64decode(_read("page", page, name, input=pdf)["jpeg"])


def _read(kind: str, part: int, name: str, **given: Any) -> dict[str, Any]:
    """Runs the reader on `stdin`, a descriptor, or on `input`."""
    command = [sys.executable, "-I", "-B", "-X", "utf8", str(_READER), kind, str(part)]
    with _slots:
        try:
            ran = subprocess.run(command, capture_output=True, timeout=SECONDS, env={}, check=False, **given)
        except subprocess.TimeoutExpired:
            raise ToolFailed(f"{name} can't be read: it takes longer than {SECONDS:.0f} s.") from None
    if ran.returncode:  # a signal ends it at a limit, an exception of a library ends it with 1
        problem = "reading it takes too much time or memory" if ran.returncode < 0 else "it is damaged"
        raise ToolFailed(f"{name} can't be read: {problem}.")
    found: dict[str, Any] = json.loads(ran.stdout)
    if "error" in found:
        raise ToolFailed(f"{name} can't be read: {found['error']}.")
    return found


def text_part(text: str, name: str, part: int) -> DocumentPart:
    """A part of a plain text. Lines stay whole unless they are very long. Raises ToolFailed."""
    starts = [0]
    while len(text) - starts[-1] > PART_CHARACTERS:
        end = starts[-1] + PART_CHARACTERS
        line = text.rfind("\n", starts[-1] + 1, end)
        starts.append(line + 1 if line > starts[-1] else end)
    if not 1 <= part <= len(starts):
        raise ToolFailed(f"{name} has {len(starts)} parts, and there is no part {part}.")
    end = starts[part] if part < len(starts) else len(text)
    return DocumentPart(text[starts[part - 1] : end], part, len(starts))

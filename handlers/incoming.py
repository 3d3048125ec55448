"""Files that people send: kept in their folder, and given to the model as text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from handlers.context import ReceivedFile
from handlers.replies.fences import fenced
from handlers.tools.decoding import text_of
from handlers.tools.files.documents import HEAD_BYTES, DocumentPart, kind_of, page_picture, read_document, text_part
from handlers.tools.files.person_files import FolderFull, PersonFiles
from routing.errors import Refused, ToolFailed
from routing.types.messages import Attachment

MAX_WHOLE_CHARACTERS = 30_000
"""A longer text is given part by part."""

SCANNED_PAGES = 4
"""Pages of a scanned PDF that are shown as pictures."""
_PAGE = "page:"
"""What the `ref` of a page begins with; its number and the `ref` of the PDF follow."""

Fetch = Callable[[Attachment], Awaitable[bytes]]
"""Downloads an attachment. Raises Refused."""


class IncomingFiles:
    """Stores attachments and reads documents. Both raise Refused if the file can't be fetched or stored."""

    def __init__(self, fetch: Fetch, files: PersonFiles) -> None:
        self._fetch = fetch
        self._files = files

    async def store(self, attachment: Attachment, person_id: int) -> str:
        """Keep a file and return its path."""
        return await self._keep(attachment, await self._fetch(attachment), person_id)

    async def document(self, attachment: Attachment, person_id: int, alone: bool = False) -> ReceivedFile:
        """Keep a document and read its beginning. One that can't be kept is read all the same, unless nothing else was
        sent (`alone`)."""
        data = await self._fetch(attachment)
        path, refusal = attachment.name, None
        try:
            path = await self._keep(attachment, data, person_id)
        except Refused as refused:
            if alone:
                raise
            refusal = refused
        try:
            part = await asyncio.to_thread(_beginning, data, path, attachment.kind == "text")
        except ToolFailed as failed:
            return ReceivedFile(path, f"{path}:\n[{failed}]", refusal=refusal)
        note = ""
        if part.parts > 1:
            note = "\n" + (f"[Part 1 of {part.parts}. The file was not kept.]" if refusal else part.note(path))
        if part.scanned:
            note += f"\n[If you can see pictures: of its {part.scanned} pages, up to {SCANNED_PAGES} are attached.]"
        pages = tuple(_page(attachment, number) for number in range(1, min(part.scanned, SCANNED_PAGES) + 1))
        return ReceivedFile(path, f"{path}:\n{fenced(part.text)}{note}", part.scanned, pages, refusal)

    async def _keep(self, attachment: Attachment, data: bytes, person_id: int) -> str:
        try:
            return await asyncio.to_thread(self._files.receive, person_id, attachment.name, data)
        except FolderFull as full:
            words = (
                "{name} was not kept: it does not fit into your folder, which may hold {most} MB and {files} files. "
                "Delete something with /files, then send it again."
            )
            most = self._files.most_bytes // 2**20
            raise Refused(words, name=attachment.name, most=most, files=self._files.most_files) from full
        except ToolFailed as failed:
            words = "{name} could not be kept: {reason} Send it again, or tell the owner."
            raise Refused(words, name=attachment.name, reason=failed.words) from None


def _beginning(data: bytes, path: str, is_text: bool) -> DocumentPart:
    """The first part of a document. Raises ToolFailed."""
    kind = kind_of(path, data[:HEAD_BYTES])
    if kind is not None:
        return read_document(data, kind, path)
    text = _decoded(data) if is_text else None
    if text is None:
        text = text_of(data, path) if data else ""
    return DocumentPart(text) if len(text) <= MAX_WHOLE_CHARACTERS else text_part(text, path, 1)


def _page(pdf: Attachment, number: int) -> Attachment:
    return Attachment("image", f"{pdf.name}, {number}", "image/jpeg", 0, f"{_PAGE}{number}:{pdf.ref}")


async def page_of(attachment: Attachment, fetch: Fetch) -> bytes | None:
    """The picture of a page of a scanned PDF, which is fetched again; None for any other attachment. Raises Refused."""
    if not attachment.ref.startswith(_PAGE):
        return None
    number, _, ref = attachment.ref.removeprefix(_PAGE).partition(":")
    data = await fetch(replace(attachment, kind="document", ref=ref))
    try:
        return await asyncio.to_thread(page_picture, data, int(number), attachment.name)
    except ToolFailed as failed:
        raise Refused("{name} could not be shown ({reason}).", name=attachment.name, reason=str(failed)) from None


def _decoded(data: bytes) -> str | None:
    """A file that is said to be text; its encoding is detected. None if it is not text."""
    for encoding in ("utf-8-sig", "utf-16") if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return None if "\0" in text else text
    return None

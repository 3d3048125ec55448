"""Splits a reply into messages.

A short text becomes the caption of its file. Otherwise a picture goes before the text and documents after it. Text that
replaces a preview comes first, because a text message can't become a file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot.adapters.telegram.api import Json, upload
from bot.adapters.telegram.context import body
from bot.rendering.code_files import with_code_files
from bot.rendering.plain import utf16_length
from bot.rendering.telegram import Piece, pieces
from routing.types.messages import Document, FileKind, OutboundMessage, OutgoingFile, Picture

MAX_FILE_BYTES = 50 * 2**20
"""The Bot API's limit for a file that a bot sends."""
MAX_PHOTO_BYTES = 10 * 2**20
"""Larger pictures are sent as files."""
MAX_TEXT_UNITS, MAX_CAPTION_UNITS = 4096, 1024  # UTF-16 code units
RECOVERED = "(recovered)"
NO_PREVIEW = {"is_disabled": True}
_BARE = Piece("", ())
_METHODS: Mapping[FileKind, tuple[str, str]] = {
    "file": ("sendDocument", "document"),
    "picture": ("sendPhoto", "photo"),
    "voice": ("sendVoice", "voice"),
}
"""The Bot API's method and parameter."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message: a text, or a file with its caption. `instead`: Markdown to send if the file is refused. `extras`:
    further parameters of the call."""

    piece: Piece
    file: Document | Picture | OutgoingFile | None = None
    instead: str = ""
    extras: Json = field(default_factory=dict)

    async def call(self) -> tuple[str, Json]:
        """The API method to send it and its parameters, without the chat."""
        given = body(self.piece)
        if self.file is None:
            return "sendMessage", given | {"link_preview_options": NO_PREVIEW}
        names = {"text": "caption", "entities": "caption_entities"}
        caption = {names[name]: value for name, value in given.items() if value}
        if isinstance(self.file, Picture):
            return "sendPhoto", {"photo": await asyncio.to_thread(upload, self.file.name, self.file.data)} | caption
        if isinstance(self.file, OutgoingFile):
            method, name = _METHODS[self.file.kind]
            return method, {name: await asyncio.to_thread(upload, self.file.name, self.file.data)} | caption
        data = self.file.text.encode(errors="replace")
        return "sendDocument", {"document": await asyncio.to_thread(upload, self.file.name, data)} | caption

    def marked(self) -> Part | None:
        """The part with a mark that it may be a copy; None if that makes it too long."""
        shift = len(RECOVERED) + 1
        if utf16_length(self.piece.text) + shift > (MAX_TEXT_UNITS if self.file is None else MAX_CAPTION_UNITS):
            return None
        moved = (entity | {"offset": entity["offset"] + shift} for entity in self.piece.entities)
        return replace(self, piece=Piece(f"{RECOVERED} {self.piece.text}", tuple(moved)))

    def noted(self, why: str) -> Part:
        """The part without its file, with a note about it below the text."""
        note = f"⚠️ {self.file.name}: {why}" if self.file else ""
        return Part(Piece(f"{self.piece.text}\n{note}".strip(), self.piece.entities), extras=self.extras)


def _part(file: OutgoingFile) -> Part:
    """A file as a message; a note if it can't be sent."""
    part = Part(_BARE, file)
    if not file.data:
        return part.noted("the file is no longer there")
    if len(file.data) > MAX_FILE_BYTES:
        return part.noted(f"too large for Telegram, which takes {MAX_FILE_BYTES // 2**20} MB")
    if file.kind == "picture" and len(file.data) > MAX_PHOTO_BYTES:
        return Part(_BARE, replace(file, kind="file"))
    return part


def parts(message: OutboundMessage) -> tuple[Part, ...]:
    """The messages of a reply; none if it has no visible content."""
    text, code = with_code_files(message.text, message.attached, MAX_TEXT_UNITS, lambda block: len(pieces(block)))
    texts = [Part(piece) for piece in pieces(text)]
    before = [] if message.picture is None else [Part(_BARE, message.picture)]
    after = [Part(_BARE, each.document, each.markdown) for each in code]
    after += [] if message.document is None else [Part(_BARE, message.document)]
    after += [_part(each) for each in message.files]
    if message.edits:
        return (*texts, *before, *after)
    files = before + after
    if (
        len(texts) == len(files) == 1
        and files[0].file is not None
        and utf16_length(texts[0].piece.text) <= MAX_CAPTION_UNITS
    ):
        return (replace(files[0], piece=texts[0].piece),)
    return (*before, *texts, *after)

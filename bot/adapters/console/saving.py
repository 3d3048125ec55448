"""Saves documents as files without overwriting others."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from bot.adapters.console.printable import one_line
from handlers.languages import Say
from routing.errors import system_reason
from routing.types.messages import Document, OutgoingFile

MAX_NAME_CHARACTERS = 60
"""A character has up to 4 bytes; most file systems allow 255 bytes."""


def saved(document: Document | OutgoingFile, folder: Path) -> Path:
    """Save a document under its name, or with the next free number if another file has that name. Returns the path.

    If a file with the same content exists, it is used. Only the process's user can read the file. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = document.data if isinstance(document, OutgoingFile) else document.text.encode(errors="replace")
    plain = Path(_safe(document.name))
    for number in count(1):
        path = folder / (plain.name if number == 1 else f"{plain.stem}-{number}{plain.suffix}")
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if _holds(path, data):
                break
            continue
        _fill(handle, path, data)
        break
    return path.absolute()


def save_note(document: Document | OutgoingFile, folder: Path, say: Say) -> str:
    """Save the document and return a line that says where it is, or why it could not be saved."""
    if isinstance(document, OutgoingFile) and not document.data:
        return say("{name} is no longer there.", name=_safe(document.name))
    try:
        return say("Saved as {path}", path=saved(document, folder))
    except OSError as error:
        words = "{name} could not be saved in {folder} ({error})."
        return say(words, name=_safe(document.name), folder=folder, error=system_reason(error))


def _safe(name: str) -> str:
    """A name without folders, leading dots or control characters. A long name is shortened before its extension."""
    last = one_line(name.replace("\\", "/"), len(name) + 1).rpartition("/")[2]
    return last[-MAX_NAME_CHARACTERS:].lstrip(". ") or "document"


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _fill(handle: int, path: Path, data: bytes) -> None:
    """Write all data, or remove the file."""
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise

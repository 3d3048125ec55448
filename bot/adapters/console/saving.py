"""A document at the terminal: a file that overwrites nothing."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from bot.adapters.console.printable import one_line
from routing.types.messages import Document

LONGEST_NAME = 60
"""Characters kept of a name, of up to 4 bytes each; most file systems take 255."""


def saved(document: Document, folder: Path) -> Path:
    """Where the document is now: under its own name or, if another file has that, the next free number behind it.

    A file that holds the same already is taken as it is, so that a repetition leaves no second one. Only the owner of
    the process can read it. OSError.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    data = document.text.encode(errors="replace")
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


def told(document: Document, folder: Path) -> str:
    """Save it, and one line that says where, or why not."""
    try:
        return f"Saved as {saved(document, folder)}"
    except OSError as error:
        return f"{_safe(document.name)} could not be saved in {folder} ({error.strerror or error})."


def _safe(name: str) -> str:
    """A name that stays in its folder, is no hidden file and moves no cursor; a long one keeps its ending."""
    last = one_line(name.replace("\\", "/"), len(name) + 1).rpartition("/")[2]
    return last[-LONGEST_NAME:].lstrip(". ") or "document"


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _fill(handle: int, path: Path, data: bytes) -> None:
    """All of it or no file at all."""
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise

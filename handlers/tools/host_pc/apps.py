"""The programs of a desktop, from its desktop entries (freedesktop.org), and files by name."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rapidfuzz import process

from handlers.tools.folder import printable
from routing.errors import ToolFailed

MAX_ENTRIES, MAX_ENTRY_BYTES = 3_000, 100_000
MAX_WORDS, MAX_LOOKED_AT, MAX_SECONDS, MAX_FOUND = 20, 300_000, 10.0, 40
"""Limits of a search for files: words, names looked at, seconds, results."""


@dataclass(frozen=True, slots=True)
class App:
    """A program: `id` is its desktop entry without the ending, `names` are its name in every language."""

    id: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return printable(self.names[0])


def find_app(wanted: str, variables: Mapping[str, str]) -> App:
    """The program of this name, or the only one with this word in its name. Raises ToolFailed."""
    word, apps = " ".join(wanted.casefold().split()), list(_apps(variables))
    exact = [app for app in apps if word in (app.id.casefold(), *map(str.casefold, app.names))]
    partly = [app for app in apps if any(f" {word} " in f" {name.casefold()} " for name in app.names)]
    found = exact or partly
    if word and len({app.name for app in found}) == 1:
        return found[0]
    if word and found:
        choices = ", ".join(sorted({app.name for app in found})[:10])
        raise ToolFailed(f"Several programs fit: {choices}. Use one of these.")
    near = process.extract(word, [app.name for app in apps], processor=str.casefold, limit=5, score_cutoff=50)
    hint = f" The nearest: {', '.join(name for name, _, _ in near)}." if near else ""
    raise ToolFailed(f"No program here is called {wanted[:60]!r}.{hint}")


def _apps(variables: Mapping[str, str]) -> Iterator[App]:
    """Visible entries; those of the user come first and hide others with the same id."""
    home = variables.get("HOME", "/nonexistent")
    folders = [variables.get("XDG_DATA_HOME") or f"{home}/.local/share"]
    folders += (variables.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    seen: set[str] = set()
    for folder in folders:
        for path in sorted(Path(folder, "applications").glob("*.desktop"))[: MAX_ENTRIES - len(seen)]:
            if path.stem not in seen and not path.stem.startswith("-"):
                seen.add(path.stem)
                if names := _names(path):
                    yield App(path.stem, names)


def _names(path: Path) -> tuple[str, ...]:
    """Names in the entry's main section; empty if it is hidden, no application, or unreadable."""
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_ENTRY_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return ()
    begin = lines.index("[Desktop Entry]") + 1 if "[Desktop Entry]" in lines else len(lines)
    fields: dict[str, str] = {}
    for line in lines[begin:]:
        if line.startswith("["):
            break
        key, _, value = line.partition("=")
        fields.setdefault(key.strip(), value.strip())
    hidden = "true" in (fields.get("NoDisplay"), fields.get("Hidden"))
    if hidden or fields.get("Type") != "Application" or not fields.get("Name"):
        return ()
    return (fields["Name"], *(value for key, value in fields.items() if key.startswith("Name[") and value))


def find_files(wanted: str, home: Path) -> str:
    """Files and folders below `home` with all words in their names, the newest first. Hidden ones and links are left
    out. Raises ToolFailed."""
    words = wanted.casefold().split()[:MAX_WORDS]
    if not words:
        raise ToolFailed("Give a part of the file's name.")
    found, complete = _search(words, home)
    if not found:
        raise ToolFailed(f"No file below the home folder has {wanted[:60]!r} in its name.")
    newest = sorted(found, reverse=True)[:MAX_FOUND]
    lines = [
        f"{printable(path)}  {size:,} bytes  {datetime.fromtimestamp(at, UTC):%Y-%m-%d}" for at, path, size in newest
    ]
    more = [f"… and {len(found) - MAX_FOUND} more"] if len(found) > MAX_FOUND else []
    return "\n".join([*lines, *more, *([] if complete else ["The search was stopped before its end."])])


def _search(words: Sequence[str], home: Path) -> tuple[list[tuple[float, str, int]], bool]:
    """Time, path and size of what was found, and whether everything was looked at."""
    found: list[tuple[float, str, int]] = []
    until, looked_at = time.monotonic() + MAX_SECONDS, 0
    for folder, subfolders, files in os.walk(home):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        looked_at += len(files) + len(subfolders)
        for name in (*subfolders, *files):
            folded = name.casefold()
            if name.startswith(".") or not all(word in folded for word in words):
                continue
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            found.append((status.st_mtime, path, status.st_size))
        if looked_at > MAX_LOOKED_AT or time.monotonic() > until:
            return found, False
    return found, True

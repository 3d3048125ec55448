"""The difference between two versions of a file, as people may see it: without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from bot.admin.env_text import shown_lines
from routing.redaction import hint, masked

CONTEXT_LINES = 3
MAX_LINES = 400
"""Above this, the rest of a difference is only counted."""
MAX_COMPARED = 3_000
"""If more lines are between the first and the last change, they are shown as replaced, because the time to compare them
grows with their square."""
_KEY = re.compile(r'("apiKey"\s*+:\s*+)"((?:[^"\\]|\\.)*+)"')

Kind = Literal["same", "added", "removed", "gap"]
Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line; `gap` stands for lines that are left out."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What changed in the file `name`; no lines if its earlier text is not known."""

    name: str
    lines: tuple[DiffLine, ...]


def file_diff(name: str, is_env: bool, before: str, after: str) -> FileDiff:
    """Compares the lines as they are, and shows them without secrets."""
    old, new = (shown_lines(text) if is_env else _json_lines(text) for text in (before, after))
    lines = list(_lines(old, new))
    rest = [DiffLine("gap", f"{len(lines) - MAX_LINES:,} more lines")] if len(lines) > MAX_LINES else []
    return FileDiff(name, (*lines[:MAX_LINES], *rest))


def _lines(old: tuple[list[str], list[str]], new: tuple[list[str], list[str]]) -> Iterator[DiffLine]:
    for number, group in enumerate(_groups(old[0], new[0])):
        if number or group[0][1]:
            yield DiffLine("gap", f"line {group[0][3] + 1}")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (DiffLine("same", line) for line in new[1][j1:j2])
                continue
            yield from (DiffLine("removed", line) for line in old[1][i1:i2])
            yield from (DiffLine("added", line) for line in new[1][j1:j2])


def _groups(old: list[str], new: list[str]) -> Iterator[list[Opcode]]:
    """Changes with the lines around them, as `SequenceMatcher.get_grouped_opcodes` returns them. What is equal at the
    start and the end is not compared again."""
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - start) if old[-1 - at] != new[-1 - at]), least - start)
    if start == len(old) == len(new):
        return
    before, after = max(0, start - CONTEXT_LINES), max(0, end - CONTEXT_LINES)
    a, b = old[before : len(old) - after], new[before : len(new) - after]
    if max(len(a), len(b)) > MAX_COMPARED:
        kept = start - before
        last = len(a) - end + after, len(b) - end + after
        groups: Iterable[list[Opcode]] = [[("equal", 0, kept, 0, kept), ("replace", kept, last[0], kept, last[1])]]
    else:
        groups = SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT_LINES)
    for group in groups:
        yield [(tag, i1 + before, i2 + before, j1 + before, j2 + before) for tag, i1, i2, j1, j2 in group]


def _json_lines(text: str) -> tuple[list[str], list[str]]:
    raw = text.splitlines()
    return raw, [_json_line(line) for line in raw]


def _json_line(line: str) -> str:
    parts, end = [], 0
    for found in _KEY.finditer(line):
        parts += [masked(line[end : found.start()]), f'{found[1]}"{hint(found[2])}"']
        end = found.end()
    return "".join([*parts, masked(line[end:])])

"""Repairs of Markdown source: spoilers, and what a stream has not finished writing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

_MARK = re.compile(rb"(?<![\\|])\|\|(?!\|)")
_GAP = re.compile(rb"\n[ \t>]*\n|^[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+\|[-:| \t]*$", re.MULTILINE)
_TICKS = re.compile("`+")
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\]\([^()\s]*)?$")
_LONE_MARKS = re.compile(r"(?:^|\n)[ \t]*(?:[-+*=>#_|~`.]|\d{1,9}[.)]?)[-+*=>#_|~` \t]*$")
_PAIRS = {
    "**": re.compile(r"\*\*"),
    "~~": re.compile(r"~~"),
    "||": re.compile(r"\|\|"),
    "*": re.compile(r"(?<![\w*\\])\*(?=[^\s*])|(?<=[^\s*\\])\*(?![\w*])"),
    "_": re.compile(r"(?<![\w_\\])_(?=[^\s_])|(?<=[^\s_\\])_(?![\w_])"),
}


def with_spoilers(source: str, code: Callable[[str], list[tuple[int, int]]]) -> str:
    """``||text||`` as the tags that the walker reads, where both marks hug the text and share a paragraph.

    Marks in code and in tables (two empty cells' bars) stay; so do those in a line like ``a || b``.
    """
    if "||" not in source:
        return source
    data = source.encode()
    closed = [extent for extent in code(source) if b"||" in data[extent[0] : extent[1]]]
    gaps = [match.start() for match in _GAP.finditer(data)]
    tables = {bisect_right(gaps, gap) for gap in gaps if data[gap : gap + 1] != b"\n"}
    parts, cursor, opened = [], 0, -1
    for match in _MARK.finditer(data):
        at = match.start()
        if _within(closed, at):
            continue
        paragraph = bisect_right(gaps, at)
        if paragraph in tables or paragraph + 1 in tables:
            continue
        hugs_before, hugs_after = not data[at - 1 : at].isspace() and at > 0, not data[at + 2 : at + 3].isspace()
        if opened >= 0 and bisect_right(gaps, opened) == paragraph and hugs_before and at > opened + 2:
            parts += [data[cursor:opened], b"<tg-spoiler>", data[opened + 2 : at], b"</tg-spoiler>"]
            cursor, opened = at + 2, -1
        elif hugs_after and at + 2 < len(data):
            opened = at
    return b"".join([*parts, data[cursor:]]).decode()


def _within(extents: list[tuple[int, int]], at: int) -> bool:
    """Whether the place lies in one of the sorted extents, which do not overlap."""
    index = bisect_right(extents, at, key=lambda extent: extent[0]) - 1
    return index >= 0 and at < extents[index][1]


def open_fence(source: str) -> tuple[str, int] | None:
    """The opening line's marker with its language, and its place, of a code fence that is not closed yet."""
    opened: tuple[str, str, int] | None = None
    for match in _FENCE.finditer(source):
        marker, rest = match.groups()
        if opened is None:
            if "`" not in rest or marker[0] == "~":
                opened = (marker, rest, match.start())
        elif marker.startswith(opened[0]) and not rest.strip():
            opened = None
    return (opened[0] + opened[1], opened[2]) if opened else None


def tail(source: str, size: int) -> str:
    """About the last `size` characters from the start of a line; a code fence that is cut is opened again."""
    if len(source) <= size:
        return source
    start = source.find("\n", len(source) - size) + 1 or len(source) - size
    fence = open_fence(source[:start])
    return f"{fence[0]}\n{source[start:]}" if fence else source[start:].lstrip()


def finished(source: str) -> str:
    """An unfinished answer as it will probably look: half links and lone marks away, open pairs closed."""
    fence = open_fence(source)
    if fence is not None:
        line = source.rfind("\n", fence[1] + 1) + 1
        if not line:
            return source[: fence[1]]
        last = source[line:].strip()
        return source[:line] if last and set(last) == {fence[0][0]} else source
    source = _LONE_MARKS.sub("", source)
    source = _HALF_LINK.sub(r"\1", source).rstrip("*_~`|")
    last = re.split(r"\n[ \t]*\n", source)[-1]
    return source + _closers(last)


def _without_code(paragraph: str) -> str:
    """The paragraph without its code spans: each ends at the next run of as many backticks."""
    runs = list(_TICKS.finditer(paragraph))
    closes: dict[int, int] = {}
    later: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index][0])
        if length in later:
            closes[index] = later[length]
        later[length] = index
    parts, cursor, index = [], 0, 0
    while index < len(runs):
        if index in closes:
            parts.append(paragraph[cursor : runs[index].start()])
            index = closes[index]
            cursor = runs[index].end()
        index += 1
    return "".join([*parts, paragraph[cursor:]])


def _closers(paragraph: str) -> str:
    """The marks that close what the paragraph leaves open, the last opened first."""
    prose = _without_code(paragraph)
    ticks = prose.count("`") % 2
    if ticks:
        prose = prose[: prose.rindex("`")]
    found = {mark: [match.start() for match in pattern.finditer(prose)] for mark, pattern in _PAIRS.items()}
    left_open = sorted(((places[-1], mark) for mark, places in found.items() if len(places) % 2), reverse=True)
    return "`" * ticks + "".join(mark for _, mark in left_open)

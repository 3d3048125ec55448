"""Completes the unfinished Markdown of a streamed answer."""

from __future__ import annotations

import re

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


def open_fence(source: str) -> tuple[str, int] | None:
    """The marker with its language, and the position of the opening line, of an unclosed code fence."""
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
    """About the last `size` characters, from the start of a line. If they begin within a code fence, it is reopened."""
    if len(source) <= size:
        return source
    start = source.find("\n", len(source) - size) + 1 or len(source) - size
    fence = open_fence(source[:start])
    return f"{fence[0]}\n{source[start:]}" if fence else source[start:].lstrip()


def finished(source: str) -> str:
    """An unfinished answer without incomplete links and trailing marks, and with open pairs closed."""
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
    """The paragraph without inline code, which ends at the next run of the same number of backticks."""
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
    """The marks that close the open pairs of the paragraph, innermost first."""
    prose = _without_code(paragraph)
    ticks = prose.count("`") % 2
    if ticks:
        prose = prose[: prose.rindex("`")]
    found = {mark: [match.start() for match in pattern.finditer(prose)] for mark, pattern in _PAIRS.items()}
    left_open = sorted(((places[-1], mark) for mark, places in found.items() if len(places) % 2), reverse=True)
    return "`" * ticks + "".join(mark for _, mark in left_open)

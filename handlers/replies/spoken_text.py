"""The part of an answer that can be read aloud."""

from __future__ import annotations

import re

MAX_CHARACTERS = 1_500
"""About two minutes."""
_MAX_READ = 20_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MARKER = re.compile(r"(?:(?:>|[-*+]|\d{1,9}[.)]|#{1,6})\s+)+")
_NOT_SPOKEN = re.compile(r"!?\[(?P<label>[^\[\]]{0,200})\]\([^()\s]{0,500}\)|https?://\S{1,2000}|<[^<>\s]{1,200}>|\$\$")
_MARKS = re.compile(r"[*`~]+|__+|(?<!\w)_|_(?!\w)")
_END = re.compile(r"[.!?…。！？](?=\s|$)|\n")
_RULE = re.compile(r"[\s|:*_=-]*")


def spoken_text(markdown: str, most: int = MAX_CHARACTERS) -> tuple[str, bool]:
    """The text without code blocks, tables, pictures and addresses; of links, the label. And whether it was cut to its
    first `most` characters."""
    lines: list[str] = []
    fence = ""
    for line in markdown[:_MAX_READ].split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(found[1][0]):
                fence = ""
            continue
        if found:
            fence = found[1]
        elif not (_is_table(line) or _RULE.fullmatch(line) or line.startswith(("    ", "\t"))):
            lines.append(_plain(line))
    text = "\n".join(filter(None, lines))
    if len(text) <= most:
        return text, len(markdown) > _MAX_READ
    ends = [each.end() for each in _END.finditer(text[: most + 1]) if each.end() <= most]
    return text[: ends[-1] if ends else most].strip(), True


def _plain(line: str) -> str:
    line = line.lstrip()
    if marker := _MARKER.match(line):
        line = line[marker.end() :]
    line = _NOT_SPOKEN.sub(lambda found: found["label"] or "" if not found[0].startswith("!") else "", line)
    return " ".join(_MARKS.sub("", line).split())


def _is_table(line: str) -> bool:
    bare = line.strip()
    return bare.startswith("|") or bare.count(" | ") > 1

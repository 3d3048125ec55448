"""Markdown as visible text with spans, divided into messages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import itemgetter

from bot.rendering.plain import TAB, boundary_after, boundary_before, guarded, is_blank, utf16_offsets
from bot.rendering.spans import Accept, Extent, Heading, Span, legal, trimmed, with_headings

# Anything that Markdown, or its whitespace rules, might not show literally.
_MARKUP = re.compile(r"[\\`*_~|\[\]<>&$\t]|^[ \-+=#:]|^\d{1,9}[.)]|[^\S\n]$|^[^\S\n]|\n\n\n", re.MULTILINE)
_PARAGRAPH = re.compile(r"(?=\n[^\S\n]*\n)")
_LINE = re.compile(r"(?=\n)")
_SENTENCE = re.compile(r"[.!?…][\"'”’»)\]]*(?=[ \n])|[。！？…][」』”）]*")
_WORD = re.compile(r"(?=[ \n])|[，、；：]")
_RUN, _SPACE = re.compile(r"\S*"), re.compile(r"\s*")


def rendered(markdown: str, accept: Accept, heading: Heading) -> tuple[str, list[Span]]:
    """The visible text of clean Markdown, and its spans. The text stays as written if it can't be converted or nothing
    would be visible."""
    if is_blank(markdown):
        return "", []
    if not _MARKUP.search(markdown.strip()):
        return markdown.strip(), []
    refused: tuple[str, list[Span]] = "", []
    text, spans = guarded(lambda: converted(markdown, accept, heading), refused)
    return (markdown.replace("\t", TAB), []) if is_blank(text) else (text, spans)


def converted(markdown: str, accept: Accept, heading: Heading) -> tuple[str, list[Span]]:
    """The text and its spans as the platforms accept them. Raises what the Markdown and TeX libraries raise."""
    from bot.rendering.markdown import render

    text, spans = render(markdown, accept)
    return text, legal(text, with_headings(spans, heading))


class FormattedText:
    """The visible text of clean Markdown with sorted, nested spans, and its division into messages."""

    def __init__(self, markdown: str, accept: Accept, heading: Heading) -> None:
        text, self.spans = rendered(markdown, accept, heading)
        self.text = text.rstrip()
        self._reached = list(accumulate((span.end for span in self.spans), max))

    def ranges(self, limit: int, shorten: Callable[[int, int], int]) -> list[Extent]:
        """The start and end of each message of at most `limit` UTF-16 units; see `split.ranges`."""
        fences = [(span.start, span.end) for span in self.spans if span.type == "pre"]
        whole = [(span.start, span.end) for span in self.spans if span.type in ("text_link", "code")]
        return ranges(self.text, limit, fences, whole, shorten)

    def clipped(self, start: int, end: int) -> list[Span]:
        """The parts of spans within text[start:end], without whitespace at their ends."""
        found: list[Span] = []
        for span in self.spans[bisect_right(self._reached, start) :]:
            if span.start >= end:
                break
            if span.end > start:
                part = replace(span, start=max(span.start, start), end=min(span.end, end))
                found += trimmed(self.text, part)
        return found


def ranges(
    text: str,
    limit: int,
    fences: Sequence[Extent] = (),
    whole: Sequence[Extent] = (),
    crowded: Callable[[int, int], int] | None = None,
) -> list[Extent]:
    """Consecutive (start, end) ranges of at most `limit` UTF-16 units, with only whitespace between them.

    `fences` and `whole` are sorted and do not overlap. Fences are broken between lines, if at all; `whole` (links,
    inline code) only if longer than a message. `crowded(start, end)` returns an earlier end if a range must be shorter.
    Ranges are trimmed, except for the indentation of code.
    """
    if limit < 2:
        raise ValueError(f"a message needs room for at least 2 units, not {limit}")
    offsets = utf16_offsets(text)
    found: list[Extent] = []
    start = _skip_space(text, 0, fences)
    while start < len(text):
        hard = bisect_right(offsets, offsets[start] + limit, start) - 1
        if crowded is not None:
            hard = max(start + 1, crowded(start, hard))
        end = len(text) if hard >= len(text) else _break(text, start, hard, fences, whole)
        trimmed = start + len(text[start:end].rstrip())
        if trimmed > start:
            found.append((start, trimmed))
        start = _skip_space(text, end, fences)
    return found


def neat_start(text: str, start: int) -> int:
    """Where the end of a long text should begin: at the next line, else word, if one is near, and never within a
    character."""
    if not start:
        return 0
    rest = (len(text) - start) // 4
    line = text.find("\n", start, start + min(300, rest)) + 1
    return boundary_after(text, line or text.find(" ", start, start + min(50, rest)) + 1 or start)


def inside(extents: Sequence[Extent], position: int) -> Extent | None:
    """The extent that contains `position` strictly inside."""
    index = bisect_left(extents, (position, -1)) - 1
    if index >= 0 and extents[index][0] < position < extents[index][1]:
        return extents[index]
    return None


def _skip_space(text: str, position: int, fences: Sequence[Extent]) -> int:
    """The start of the next range. A line of code keeps its indentation."""
    found = _SPACE.match(text, position)
    rest = found.end() if found else position
    opened = inside(fences, rest)
    if opened is None:
        return rest
    line = text.rfind("\n", position, rest) + 1 or position
    return max(line, opened[0])


def _break(text: str, start: int, hard: int, fences: Sequence[Extent], whole: Sequence[Extent]) -> int:
    """The best end in (start, hard] of a range before the end of the text."""
    floor = start + max(1, (hard - start) // 3)
    fence = inside(fences, hard)
    if fence is not None and fence[1] - max(fence[0], start) > hard - start:
        end = _last(_LINE, text, max(floor, fence[0] + 1), hard, (), whole)
        if end:
            return end
    near = fences[bisect_left(fences, floor, key=itemgetter(1)) : bisect_right(fences, hard, key=itemgetter(0))]
    edges = [edge for extent in near for edge in extent if floor <= edge <= hard]
    paragraph = _last(_PARAGRAPH, text, floor, hard, fences, whole)
    end = max([paragraph, *edges])
    for pattern, closed in ((_LINE, fences), (_LINE, ()), (_SENTENCE, fences), (_WORD, fences), (_WORD, ())):
        end = end or _last(pattern, text, floor, hard, closed, whole)
    return end or _forced(text, start, hard, whole)


def _last(
    pattern: re.Pattern[str], text: str, floor: int, hard: int, fences: Sequence[Extent], whole: Sequence[Extent]
) -> int:
    """The last match of the pattern in [floor, hard] that breaks no extent, or 0."""
    ends = [match.end() for match in pattern.finditer(text, floor, min(len(text), hard + 2))]
    for end in reversed(ends):
        if end <= hard and inside(fences, end) is None and inside(whole, end) is None:
            return end
    return 0


def _forced(text: str, start: int, hard: int, whole: Sequence[Extent]) -> int:
    """An end if there is no good one: before a link that fits into one message, else between characters."""
    kept = inside(whole, hard)
    if kept is None:
        space = max(text.rfind(" ", start, hard), text.rfind("\n", start, hard)) + 1
        run = _RUN.match(text, space, space + hard - start + 1) if space else None
        if run is not None and "://" in run[0]:
            kept = (space, run.end())
    if kept is not None and kept[0] > start and kept[1] - kept[0] <= hard - start:
        return kept[0]
    return boundary_before(text, hard, start)

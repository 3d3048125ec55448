"""Text with formatted spans, counted in characters: made from Markdown, and divided into messages."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from bot.rendering.plain import TAB, guarded, is_blank
from bot.rendering.split import Extent, ranges

# Anything that Markdown, or its whitespace rules, might not show literally.
_MARKUP = re.compile(r"[\\`*_~|\[\]<>&$\t]|^[ \-+=#:]|^\d{1,9}[.)]|[^\S\n]$|^[^\S\n]|\n\n\n", re.MULTILINE)
STYLES = ("bold", "italic", "underline", "strikethrough")


@dataclass(frozen=True, slots=True)
class Span:
    """Formatting from `start` to `end` (characters, not UTF-16 units). `level` is that of a heading."""

    type: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None
    level: int = 0


Accept = Callable[[str, str], str | None]
"""Gets an address and its label. Returns the address as the platform takes it behind the label; None to show it."""
Heading = Callable[[Span], Iterable[Span]]
"""Returns the spans that show a heading."""


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
    return text, legal(text, _with_headings(spans, heading))


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


def trimmed(text: str, span: Span) -> tuple[Span, ...]:
    """The span without the whitespace at its ends (the indentation of code stays); none if nothing is left."""
    content = text[span.start : span.end]
    end = span.start + len(content.rstrip())
    start = span.start + len(content) - len(content.lstrip("\n" if span.type in ("pre", "blockquote") else None))
    return (replace(span, start=start, end=end),) if start < end else ()


def legal(text: str, spans: Iterable[Span]) -> list[Span]:
    """Sorted, nested spans as the platforms accept them: only a quote may contain code.

    Styles end before code and continue after it. Code in a link or a spoiler loses its formatting, so that the address
    and the secret stay.
    """
    code: list[Extent] = []
    kept: list[Span] = []
    covered = 0
    for span in spans:
        if span.type in ("text_link", "spoiler"):
            covered = max(covered, span.end)
        if span.type in ("code", "pre"):
            if span.start < covered:
                continue
            code.append((span.start, span.end))
        kept.append(span)
    cut = (piece for span in kept for piece in (_outside(span, code) if span.type in STYLES else (span,)))
    return sorted((fit for span in cut for fit in trimmed(text, span)), key=lambda span: (span.start, -span.end))


def _with_headings(spans: Iterable[Span], heading: Heading) -> Iterator[Span]:
    """The spans with each heading replaced. Bold text within a heading is dropped."""
    end = 0
    for span in spans:
        if span.type == "heading":
            end = span.end
            yield from heading(span)
        elif span.type != "bold" or span.start >= end:
            yield span


def _outside(span: Span, code: Sequence[Extent]) -> Iterator[Span]:
    start = span.start
    for first, last in code[bisect_left(code, (start, start)) :]:
        if first >= span.end:
            break
        if start < first:
            yield replace(span, start=start, end=first)
        start = last
    if start < span.end:
        yield replace(span, start=start)

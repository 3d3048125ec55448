"""Formatted stretches of a text, counted in characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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


def trimmed(text: str, span: Span) -> Span | None:
    """The span without the whitespace at its ends (the indentation of code stays); None when nothing is left."""
    content = text[span.start : span.end]
    end = span.start + len(content.rstrip())
    lead = "\n" if span.type in ("pre", "blockquote") else None
    start = span.start + len(content) - len(content.lstrip(lead))
    if (start, end) == (span.start, span.end):
        return span
    return replace(span, start=start, end=end) if start < end else None


def clipped(text: str, spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The parts in text[start:end] of spans sorted by their start, trimmed and counted from `start`."""
    found = []
    for span in spans:
        if span.start >= end:
            break
        if span.end > start:
            whole = start <= span.start and span.end <= end
            part = trimmed(text, span if whole else replace(span, start=max(span.start, start), end=min(span.end, end)))
            if part:
                found.append(replace(part, start=part.start - start, end=part.end - start))
    return found


def legal(text: str, spans: Iterable[Span]) -> list[Span]:
    """Sorted, nested spans as the platforms take them: code lies in nothing but a quote.

    Styles end before code and go on after it. Code in a link or a spoiler is given up, so that address and secret stay.
    """
    holes: list[tuple[int, int]] = []
    kept: list[Span] = []
    covered = 0
    for span in spans:
        if span.type in ("text_link", "spoiler"):
            covered = max(covered, span.end)
        if span.type in ("code", "pre"):
            if span.start < covered:
                continue
            holes.append((span.start, span.end))
        kept.append(span)
    cut = (piece for span in kept for piece in (_outside(span, holes) if span.type in STYLES else (span,)))
    return sorted((fit for span in cut if (fit := trimmed(text, span))), key=lambda span: (span.start, -span.end))


def _outside(span: Span, holes: Sequence[tuple[int, int]]) -> Iterator[Span]:
    start = span.start
    for hole in holes[bisect_left(holes, (start, start)) :]:
        if hole[0] >= span.end:
            break
        if start < hole[0]:
            yield replace(span, start=start, end=hole[0])
        start = hole[1]
    if start < span.end:
        yield replace(span, start=start)

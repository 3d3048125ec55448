"""Formatted spans of a text, counted in characters, as the platforms accept them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

Extent = tuple[int, int]
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


def with_headings(spans: Iterable[Span], heading: Heading) -> Iterator[Span]:
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

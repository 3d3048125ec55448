"""Formatted stretches of a text, counted in characters, and the rules a platform sets for them."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

SOLID = ("pre", "text_link", "code")  # the earlier wins where two of them meet
STYLES = ("bold", "italic", "underline", "strikethrough", "spoiler")
_RANK = {name: rank for rank, name in enumerate(("blockquote", *SOLID, *STYLES))}


@dataclass(frozen=True, slots=True)
class Span:
    """One kind of formatting from `start` to `end` (characters, not UTF-16 units)."""

    type: str
    start: int
    end: int
    url: str | None = None
    language: str | None = None


def legal(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans as Telegram takes them, sorted: none empty, none partly over another, quotes not nested.

    Nothing lies in `pre` or `code`. Inline code in a link or a spoiler is given up, so that address and secret stay.
    """
    given = list(spans)
    quotes = [Span("blockquote", *extent) for extent in _union(s for s in given if s.type == "blockquote")]
    hidden = _union(s for s in given if s.type == "spoiler")
    solids = _apart(s for s in given if s.type in SOLID and not (s.type == "code" and _meets(s, hidden)))
    holes = [(s.start, s.end) for s in solids if s.type != "text_link"]
    edges = sorted({edge for quote in quotes for edge in (quote.start, quote.end)})
    styles = [
        Span(name, start, end)
        for name in STYLES
        for extent in _union(s for s in given if s.type == name)
        for outside in _outside(extent, holes)
        for start, end in _cut(outside, edges)
    ]
    nested = _nested([*quotes, *solids, *styles])
    return sorted((kept for span in nested if (kept := trimmed(text, span))), key=_order)


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
    """The sorted spans' parts in text[start:end], trimmed, counted from `start`."""
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


def _order(span: Span) -> tuple[int, int, int]:
    return span.start, -span.end, _RANK[span.type]


def _union(spans: Iterable[Span]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for span in sorted(spans, key=_order):
        if merged and span.start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span.end))
        elif span.start < span.end:
            merged.append((span.start, span.end))
    return merged


def _meets(span: Span, extents: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(extents, span.start, key=lambda extent: extent[1])
    return index < len(extents) and extents[index][0] < span.end


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Solid spans that do not meet, by rank, then the outer before the inner."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (_RANK[s.type], *_order(s))):
        place = bisect_left(kept, span.start, key=lambda s: s.start)
        free_before = place == 0 or kept[place - 1].end <= span.start
        free_after = place == len(kept) or kept[place].start >= span.end
        if span.start < span.end and free_before and free_after:
            insort(kept, span, key=lambda s: s.start)
    return kept


def _outside(extent: tuple[int, int], holes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of the extent that lie in none of the sorted holes."""
    start, end = extent
    for hole in holes[bisect_right(holes, start, key=lambda h: h[1]) :]:
        if hole[0] >= end:
            break
        if start < hole[0]:
            yield start, hole[0]
        start = max(start, hole[1])
    if start < end:
        yield start, end


def _cut(extent: tuple[int, int], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    start, end = extent
    for edge in edges[bisect_right(edges, start) : bisect_left(edges, end)]:
        yield start, edge
        start = edge
    yield start, end


def _nested(spans: Iterable[Span]) -> list[Span]:
    """Spans that cross another one are cut where the other ends."""
    waiting = [(_order(span), number, span) for number, span in enumerate(spans)]
    heapq.heapify(waiting)
    number = len(waiting)
    opened: list[Span] = []
    result: list[Span] = []
    while waiting:
        _, _, span = heapq.heappop(waiting)
        while opened and opened[-1].end <= span.start:
            opened.pop()
        if opened and opened[-1].end < span.end:
            number += 1
            rest = replace(span, start=opened[-1].end)
            heapq.heappush(waiting, (_order(rest), number, rest))
            span = replace(span, end=opened[-1].end)
        opened.append(span)
        result.append(span)
    return result

"""Markdown as Discord's, which lacks tables, formulas and pictures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from bot.rendering import escapes, graphemes, source
from bot.rendering.escapes import ZERO_WIDTH
from bot.rendering.plain import clean, is_blank, rendered
from bot.rendering.spans import Span, clipped, legal
from bot.rendering.split import ranges
from bot.rendering.telegram import accepted

MAX_TEXT = 2000
"""Characters a message; Discord counts code points."""
_LEAST = 100  # below this, markup and one word might not fit
_MARKS = {"bold": "**", "italic": "*", "underline": "__", "strikethrough": "~~", "spoiler": "||"}
_MAX_HEADING = 3
_BLOCKS = ("pre", "blockquote", "heading")


def pieces(markdown: str, limit: int = MAX_TEXT) -> tuple[str, ...]:
    """The whole answer in messages of at most `limit` characters; () when nothing is visible.

    Breaks prefer paragraphs, then lines, sentences and words. A broken code block, quote or style is closed and opened
    again, the block with its language. No text outside code can ping anyone; code is left as it is, so the message must
    not allow mentions. Raises ValueError for a limit below 100.
    """
    if limit < _LEAST:
        raise ValueError(f"a message needs room for at least {_LEAST} characters, not {limit}")
    page = _Page(clean(markdown), limit)
    made = (page.part(start, end) for start, end in page.ranges(limit))
    return tuple(part for part in made if not is_blank(part))


def preview(markdown: str, limit: int = MAX_TEXT) -> str:
    """An unfinished answer as one message: open markup is closed, and a long answer is "…" and its end.

    Empty as long as nothing is visible. Takes no longer for 20,000 characters than for 2 × `limit`.
    """
    kept = source.tail(clean(markdown), 2 * limit)
    page = _Page(source.finished(kept), limit)
    end = len(page.text)
    if len(kept) >= len(markdown) and len(page.part(0, end)) <= limit:
        return page.part(0, end)
    first = bisect_left(range(end), True, key=lambda start: len(page.part(start, end)) <= limit - 2)
    start = graphemes.boundary_after(page.text, _neat(page.text, first)) if first else 0
    return f"…\n{page.part(start, end)}"


class _Page:
    """Visible text with its spans and escapes."""

    def __init__(self, markdown: str, limit: int) -> None:
        text, spans = rendered(markdown, lambda source: _converted(source, limit // 2))
        self.text = text.rstrip()
        self.spans = [span for span in spans if span.start < len(self.text)]
        self._changes = list(escapes.changes(self.text))
        self._starts = [change.start for change in self._changes]
        self._reached = list(accumulate((span.end for span in self.spans), max))

    def ranges(self, limit: int) -> list[tuple[int, int]]:
        """The start and end of each message."""
        fences = [(s.start, s.end) for s in self.spans if s.type == "pre"]
        whole = [(s.start, s.end) for s in self.spans if s.type in ("text_link", "code")]

        def end(start: int, hard: int) -> int:
            # A shorter part may need a mark that a longer one does not, so a few characters are kept for it.
            while hard > start + 1 and (length := len(self.part(start, hard))) > limit - 4:
                hard = max(start + 1, min(hard - 1, start + (hard - start) * (limit - 4) // length))
            return hard

        return ranges(self.text, limit, fences, whole, end)

    def part(self, start: int, end: int) -> str:
        """The content of a message."""
        near = self.spans[bisect_right(self._reached, start) :]
        spans = [
            replace(span, start=span.start + start, end=span.end + start)
            for span in clipped(self.text, near, start, end)
        ]
        return self._written(start, end, spans).strip()

    def _written(self, start: int, end: int, spans: Sequence[Span]) -> str:
        """The spans are sorted and nested."""
        written, cursor, index = "", start, 0
        while index < len(spans):
            span = spans[index]
            index += 1
            inner = index
            while index < len(spans) and spans[index].start < span.end:
                index += 1
            written = _joined(written, self._plain(cursor, span.start), "")
            written = _joined(written, self._wrapped(span, spans[inner:index]), span.type)
            cursor = span.end
            if span.type in _BLOCKS and cursor < end and self.text[cursor] != "\n":
                written += "\n"
        return _joined(written, self._plain(cursor, end), "")

    def _plain(self, start: int, end: int) -> str:
        parts, cursor = [], start
        for change in self._changes[bisect_left(self._starts, start) : bisect_left(self._starts, end)]:
            parts += [self.text[cursor : change.start], change.text]
            cursor = change.end
        return "".join([*parts, self.text[cursor:end]])

    def _wrapped(self, span: Span, inner: Sequence[Span]) -> str:
        match span.type:
            case "pre":
                return escapes.block(self.text[span.start : span.end], span.language)
            case "code":
                return escapes.inline(self.text[span.start : span.end])
        written = self._written(span.start, span.end, inner)
        match span.type:
            case "heading":
                return f"{'#' * span.level} {written}"
            case "blockquote":
                return "\n".join(f"> {line}" for line in written.split("\n"))
            case "text_link":
                return f"[{escapes.label(written)}]({escapes.address(str(span.url))})"
        return f"{_MARKS[span.type]}{written}{_MARKS[span.type]}"


def _joined(before: str, after: str, kind: str) -> str:
    """A block starts on a new line; touching marks of two styles are separated."""
    if before and kind in _BLOCKS and not before.endswith("\n"):
        return f"{before}\n{after}"
    if before and after and before[-1] == after[0] and after[0] in "*_~|`":
        return f"{before}{ZERO_WIDTH}{after}"
    return before + after


def _converted(markdown: str, longest: int) -> tuple[str, list[Span]]:
    from bot.rendering.markdown import render

    def accept(address: str, label: str) -> str | None:
        """An address that Discord hides behind its label."""
        url = accepted(address)
        short = len(escapes.address(address)) + len(label) < longest
        return url if url and url.startswith("http") and "://" not in label and short else None

    text, spans = render(markdown, accept)
    return text, legal(text, _with_headings(spans))


def _with_headings(spans: Sequence[Span]) -> Iterator[Span]:
    """Headings below the third level are bold; nothing else in a heading is."""
    end = 0
    for span in spans:
        if span.type == "heading":
            end = span.end
            yield span if span.level <= _MAX_HEADING else replace(span, type="bold", level=0)
        elif span.type != "bold" or span.start >= end:
            yield span


def _neat(text: str, start: int) -> int:
    """The start of the next line, else word, if one is near."""
    line, word = text.find("\n", start, start + 200), text.find(" ", start, start + 50)
    return line + 1 if line >= 0 else word + 1 if word >= 0 else start

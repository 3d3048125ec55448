"""A model's Markdown as Discord's: what the two share stays markup, the rest is text, code blocks and plain addresses.

The converter is Telegram's, so that tables, formulas, pictures and odd input look the same on both.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from bot.rendering import clusters, escapes, source
from bot.rendering.escapes import ZERO_WIDTH, Change
from bot.rendering.plain import clean, is_blank
from bot.rendering.spans import Span, clipped
from bot.rendering.split import ranges
from bot.rendering.telegram import rendered

MAX_TEXT = 2000
"""Characters a message; Discord counts code points."""
_LEAST = 100  # below this, markup and one word might not fit
_MARKS = {"bold": "**", "italic": "*", "underline": "__", "strikethrough": "~~", "spoiler": "||"}
# The converter makes every heading bold. A character that no text may hold, and a blank, tell its level.
_HEADING = re.compile(r"^( {0,3}(?:> ?)*(#{1,3})[ \t]+)(?=[^\s#])", re.MULTILINE)
_SIGN, _SIGNS = re.compile(r"[\ufdd1-\ufdd3] ?"), 0xFDD0


def pieces(markdown: str, limit: int = MAX_TEXT) -> tuple[str, ...]:
    """The whole answer, in order, in messages of at most `limit` characters; () when nothing is visible.

    Breaks prefer paragraphs, lines, sentences, words; a code block, a quote or a style that must be broken is closed
    and opened again, the block with its language. Nothing outside code can ping anybody, whatever the message allows;
    code is left as it is, and relies on what the message allows.
    ValueError for a limit below 100.
    """
    if limit < _LEAST:
        raise ValueError(f"a message needs room for at least {_LEAST} characters, not {limit}")
    page = _Page(markdown, limit)
    made = (page.part(start, end) for start, end in page.ranges(limit))
    return tuple(part for part in made if not is_blank(part))


def preview(markdown: str, limit: int = MAX_TEXT) -> str:
    """One message for an answer still being written: what is open is closed, of a long one "…" and the last part.

    Never raises on odd text; empty as long as nothing is visible. Costs no more for 20,000 characters than for
    2 × `limit`.
    """
    kept = source.tail(clean(markdown), 2 * limit)
    page = _Page(source.finished(kept), limit)
    end = len(page.text)
    if len(kept) >= len(markdown) and len(page.part(0, end)) <= limit:
        return page.part(0, end)
    first = bisect_left(range(end), True, key=lambda start: len(page.part(start, end)) <= limit - 2)
    start = clusters.boundary_after(page.text, _neat(page.text, first)) if first else 0
    return f"…\n{page.part(start, end)}"


class _Page:
    """Visible text with its formatting and with what has to be written differently."""

    def __init__(self, markdown: str, limit: int) -> None:
        plain = _SIGN.sub("\ufffd", clean(markdown))
        marked = _HEADING.sub(lambda m: f"{m[1]}{chr(_SIGNS + len(m[2]))} ", plain)
        text, spans = _with_signs(*rendered(marked))
        if is_blank(_SIGN.sub("", text)):  # nothing but markup
            text, spans = rendered(plain)
        self.text, spans = _with_addresses(text.rstrip(), spans, limit // 2)
        signs = [
            Change(m.start(), m.start() + 1, "#" * (ord(m[0][0]) - _SIGNS) + " ") for m in _SIGN.finditer(self.text)
        ]
        headings = [(sign.start, f"{self.text}\n".index("\n", sign.start)) for sign in signs]
        self.spans = [s for s in spans if s.type not in ("bold", "underline") or not _within(headings, s.start)]
        self._changes = sorted([*escapes.changes(self.text), *signs], key=lambda change: change.start)
        self._starts = [change.start for change in self._changes]
        self._reached = list(accumulate((span.end for span in self.spans), max))

    def ranges(self, limit: int) -> list[tuple[int, int]]:
        """Where the messages begin and end."""
        fences = [(s.start, s.end) for s in self.spans if s.type == "pre"]
        whole = [(s.start, s.end) for s in self.spans if s.type in ("text_link", "code")]

        def end(start: int, hard: int) -> int:
            # A shorter part may need a mark that a longer one does not: some characters are left for that.
            while hard > start + 1 and (length := len(self.part(start, hard))) > limit - 4:
                hard = max(start + 1, min(hard - 1, start + (hard - start) * (limit - 4) // length))
            return hard

        return ranges(self.text, limit, fences, whole, end)

    def part(self, start: int, end: int) -> str:
        """A message's content."""
        near = self.spans[bisect_right(self._reached, start) :]
        spans = [
            replace(span, start=span.start + start, end=span.end + start)
            for span in clipped(self.text, near, start, end)
        ]
        return self._written(start, end, spans).strip()

    def _written(self, start: int, end: int, spans: Sequence[Span]) -> str:
        """The spans are sorted and lie within each other or apart."""
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
            if span.type in ("pre", "blockquote") and cursor < end and self.text[cursor] != "\n":
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
            case "blockquote":
                return "\n".join(f"> {line}" for line in written.split("\n"))
            case "text_link":
                return f"[{escapes.label(written)}]({escapes.address(str(span.url))})"
        return f"{_MARKS[span.type]}{written}{_MARKS[span.type]}"


def _joined(before: str, after: str, kind: str) -> str:
    """Blocks begin a line; marks of two styles that touch are kept apart."""
    if before and kind in ("pre", "blockquote") and not before.endswith("\n"):
        return f"{before}\n{after}"
    if before and after and before[-1] == after[0] and after[0] in "*_~|`":
        return f"{before}{ZERO_WIDTH}{after}"
    return before + after


def _with_signs(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """Of the signs of headings only one character is left, and of those that stand elsewhere, as in code, nothing."""
    cuts = []
    for match in _SIGN.finditer(text):
        at, end = match.span()
        heads = at == 0 or text[at - 1] == "\n"  # what stood before it there was the heading's mark
        cuts.append(Change(at + heads, end, ""))
    return _changed(text, spans, cuts)


def _with_addresses(text: str, spans: Sequence[Span], longest: int) -> tuple[str, list[Span]]:
    """Links that Discord would not hide behind their label have the address after it."""
    kept, added = [], []
    for span in spans:
        url, shown = str(span.url), text[span.start : span.end]
        short = len(escapes.address(url)) + len(shown) < longest
        if span.type != "text_link" or (url.startswith("http") and "://" not in shown and short):
            kept.append(span)
        elif url != shown:
            added.append(Change(span.end, span.end, f" ({url})"))
    return _changed(text, kept, added)


def _changed(text: str, spans: Sequence[Span], changes: Sequence[Change]) -> tuple[str, list[Span]]:
    """With all the changes; a span does not grow by what is put in at its end."""
    if not changes:
        return text, list(spans)
    starts, ends = [change.start for change in changes], [change.end for change in changes]
    shifts = [0, *accumulate(len(change.text) - (change.end - change.start) for change in changes)]

    def moved(place: int, index: int) -> int:
        return shifts[index] + min([place, *starts[index : index + 1]])

    def last(place: int) -> int:
        index = bisect_left(ends, place)
        return moved(place, index + (place in ends[index : index + 1] and starts[index] < place))

    parts, cursor = [], 0
    for change in changes:
        parts += [text[cursor : change.start], change.text]
        cursor = change.end
    found = (replace(s, start=moved(s.start, bisect_right(ends, s.start)), end=last(s.end)) for s in spans)
    return "".join([*parts, text[cursor:]]), [span for span in found if span.start < span.end]


def _within(extents: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether the place lies in one of the sorted extents."""
    index = bisect_right(extents, place, key=lambda extent: extent[0]) - 1
    return index >= 0 and place < extents[index][1]


def _neat(text: str, start: int) -> int:
    """The start of the next line, else word, if one is near."""
    line, word = text.find("\n", start, start + 200), text.find(" ", start, start + 50)
    return line + 1 if line >= 0 else word + 1 if word >= 0 else start

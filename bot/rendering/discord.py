"""Converts Markdown to Discord's dialect, which lacks tables, formulas and pictures."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from bot.rendering import source
from bot.rendering.plain import clean, is_blank
from bot.rendering.spans import Span
from bot.rendering.split import FormattedText, neat_start
from bot.rendering.telegram import accepted

MAX_TEXT_CHARACTERS = 2000
"""Characters a message; Discord counts code points."""
_MIN_PIECE = 100  # below this, markup and one word might not fit
_MARKS = {"bold": "**", "italic": "*", "underline": "__", "strikethrough": "~~", "spoiler": "||"}
_MAX_HEADING_LEVEL = 3
_BLOCKS = ("pre", "blockquote", "heading")
_ZERO_WIDTH = "\u200b"
_ADDRESS = r"(?P<address>https?://[^\s<>`]+)"  # an address keeps its underscores; Discord reads no markup in it
# A backslash does not stop the server from reading a mention; an invisible character does.
_MENTION = r"(?P<mention><(?=@)|@(?=everyone|here))"
_LINE_START = r"(?P<indent>^[ ]*)(?:(?P<bullet>•)|(?P<opening>-#|\#{1,3}|>>>|>|[-+]))(?=[ ]|$)"
_LITERAL = (
    r"(?P<literal>[\\*`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|\[(?=[^\[\]\n]*\]\()|<(?=\#\d|/[^\n:<>]+:\d|a?:\w+:\d|t:-?\d|id:\w))"
)
_SPECIAL = re.compile("|".join((_ADDRESS, _MENTION, _LINE_START, _LITERAL)), re.MULTILINE)
_MENTIONS_ALL = re.compile("@(?=everyone|here)")
_BRACKET = re.compile(r"(?<!\\)[\[\]]")


def pieces(markdown: str, limit: int = MAX_TEXT_CHARACTERS) -> tuple[str, ...]:
    """The whole answer in messages of at most `limit` characters; () if nothing is visible.

    Breaks prefer paragraphs, then lines, sentences and words. A broken code block, quote or style is closed and
    reopened, a block with its language. Text outside code can't ping anyone; code stays as it is, so the message must
    not allow mentions. Raises ValueError for a limit below 100.
    """
    if limit < _MIN_PIECE:
        raise ValueError(f"a message needs room for at least {_MIN_PIECE} characters, not {limit}")
    page = _Page(clean(markdown), limit)
    made = (page.part(start, end) for start, end in page.ranges(limit, page.shorten))
    return tuple(part for part in made if not is_blank(part))


def preview(markdown: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """An unfinished answer as one message: open markup is closed, and a long answer is "…" and its end.

    Empty as long as nothing is visible. Takes no longer for 20,000 characters than for 2 × `limit`.
    """
    kept = source.tail(clean(markdown), 2 * limit)
    page = _Page(source.finished(kept), limit)
    end = len(page.text)
    if len(kept) >= len(markdown) and len(page.part(0, end)) <= limit:
        return page.part(0, end)
    first = bisect_left(range(end), True, key=lambda start: len(page.part(start, end)) <= limit - 2)
    return f"…\n{page.part(neat_start(page.text, first), end)}"


class _Page(FormattedText):
    """Visible text with its spans and escapes."""

    def __init__(self, markdown: str, limit: int) -> None:
        super().__init__(markdown, partial(_accepted, limit // 2), _heading)
        self._limit = limit
        self._changes = list(_changes(self.text))
        self._starts = [change.start for change in self._changes]

    def shorten(self, start: int, hard: int) -> int:
        """An end up to `hard` at which the content fits into a message. A shorter part may need a mark that a longer
        one does not, so a few characters are kept for it."""
        room = self._limit - 4
        while hard > start + 1 and (length := len(self.part(start, hard))) > room:
            hard = max(start + 1, min(hard - 1, start + (hard - start) * room // length))
        return hard

    def part(self, start: int, end: int) -> str:
        """The content of a message."""
        return self._written(start, end, self.clipped(start, end)).strip()

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
                return _escaped_block(self.text[span.start : span.end], span.language)
            case "code":
                return _escaped_inline(self.text[span.start : span.end])
        written = self._written(span.start, span.end, inner)
        match span.type:
            case "heading":
                return f"{'#' * span.level} {written}"
            case "blockquote":
                return "\n".join(f"> {line}" for line in written.split("\n"))
            case "text_link":
                return f"[{_escaped_label(written)}]({_escaped_address(str(span.url))})"
        return f"{_MARKS[span.type]}{written}{_MARKS[span.type]}"


def _joined(before: str, after: str, kind: str) -> str:
    """A block starts on a new line; touching marks of two styles are separated."""
    if before and kind in _BLOCKS and not before.endswith("\n"):
        return f"{before}\n{after}"
    if before and after and before[-1] == after[0] and after[0] in "*_~|`":
        return f"{before}{_ZERO_WIDTH}{after}"
    return before + after


def _accepted(longest: int, address: str, label: str) -> str | None:
    """An address that Discord hides behind its label."""
    url = accepted(address)
    short = len(_escaped_address(address)) + len(label) < longest
    return url if url and url.startswith("http") and "://" not in label and short else None


def _heading(span: Span) -> Iterator[Span]:
    """Headings below the third level are bold."""
    yield span if span.level <= _MAX_HEADING_LEVEL else replace(span, type="bold", level=0)


@dataclass(frozen=True, slots=True)
class _Change:
    """Replaces text[start:end]; inserts where both are the same."""

    start: int
    end: int
    text: str


def _changes(text: str) -> Iterator[_Change]:
    """The changes in order. A bullet becomes a list item; everything else is shown literally."""
    for match in _SPECIAL.finditer(text):
        start, end = match.span()
        if match["address"]:
            yield from (_Change(loud.start(), loud.end(), "%40") for loud in _MENTIONS_ALL.finditer(text, start, end))
        elif match["mention"]:
            yield _Change(end, end, _ZERO_WIDTH)
        elif match["bullet"]:
            yield _Change(end - 1, end, "-")
        elif match["opening"]:
            yield _Change(start + len(match["indent"]), start + len(match["indent"]), "\\")
        elif match["literal"]:
            yield _Change(start, start, "\\")


def _escaped_address(url: str) -> str:
    """The address as a link target, without characters that end it and without a mention."""
    for character, code in (("(", "%28"), (")", "%29"), ("<", "%3C"), (">", "%3E")):
        url = url.replace(character, code)
    return _MENTIONS_ALL.sub("%40", url)


def _escaped_label(written: str) -> str:
    """Escaped text as a link label, without a bracket that ends it."""
    return _BRACKET.sub(r"\\\g<0>", written)


def _escaped_block(code: str, language: str | None) -> str:
    """A code block. Discord ends it at the first three backticks, so those inside are separated."""
    parted = re.sub("`(?=``)", f"`{_ZERO_WIDTH}", code)
    name = language if language and re.fullmatch(r"[A-Za-z0-9_+\-.#]+", language) else ""
    return f"```{name}\n{parted}\n```"


def _escaped_inline(code: str) -> str:
    """Inline code."""
    if "`" not in code:
        return f"`{code}`"
    parted = re.sub("`(?=`)", f"`{_ZERO_WIDTH}", code)
    lead, rest = " " * parted.startswith("`"), " " * parted.endswith("`")
    return f"``{lead}{parted}{rest}``"

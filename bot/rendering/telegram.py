"""Markdown as Telegram messages: text with entities."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from bot.rendering import graphemes, source
from bot.rendering.plain import clean, is_blank, rendered
from bot.rendering.spans import Span, clipped, legal
from bot.rendering.split import ranges, utf16_offsets

MAX_ENTITIES = 100  # a message; the Bot API's server drops the rest
# The last are dropped first; the first three carry content (an address, a block, a secret).
_IMPORTANCE = (
    "text_link", "pre", "spoiler", "blockquote", "code", "bold", "strikethrough", "italic", "underline",
)  # fmt: skip
_CONTENT = _IMPORTANCE[:3]

# TDLib's LinkManager::check_link_impl: a host without a dot is "Wrong HTTP URL" and the entity is dropped, mailto:
# is mangled to http://mailto:…, tel: is no URL. Such addresses are better shown: the apps make them tappable.
_WEB = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:[^\s/?#@:\[\].]++(?:\.++[^\s/?#@:\[\].]++)++\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#]\S*)?"
)
_APP = re.compile(r"(?:tg|ton)://[A-Za-z0-9_-]+(?:[/?]\S*)?")
_MAX_ADDRESS = 2048  # characters; what browsers and Telegram's clients are sure to open


@dataclass(frozen=True, slots=True)
class Entity:
    """A Telegram MessageEntity; offset and length in UTF-16 units of the piece's text."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """One message: its text without markup, and its entities, outer ones before inner ones."""

    text: str
    entities: tuple[Entity, ...]


def pieces(markdown: str, limit: int = 4096) -> tuple[Piece, ...]:
    """The whole answer in messages of at most `limit` UTF-16 units; () when nothing is visible.

    Entities keep Telegram's rules. Breaks prefer paragraphs, then lines, sentences and words. Both parts of a broken
    code block are code with its language; links and characters are never broken. A part with more than 100 entities
    ends earlier, or drops the least important ones if it would get too short. Text that can't be parsed is sent as it
    is. Raises ValueError for a limit below 2.
    """
    text, spans = rendered(clean(markdown), converted)
    fences = [(s.start, s.end) for s in spans if s.type == "pre"]
    whole = [(s.start, s.end) for s in spans if s.type in ("text_link", "code")]
    parts = ranges(text, limit, fences, whole, _crowding(spans, limit))
    reached = list(accumulate((span.end for span in spans), max))
    made = (_piece(text, spans[bisect_right(reached, start) :], start, end) for start, end in parts)
    return tuple(piece for piece in made if not is_blank(piece.text))


def preview(markdown: str, limit: int = 4096) -> Piece:
    """An unfinished answer as one message: open markup is closed, and a long answer is "…" and its end.

    The text is empty as long as nothing is visible. Takes no longer for 20,000 characters than for 2 × `limit`. Raises
    ValueError for a limit below 2.
    """
    if limit < 2:
        raise ValueError(f"a message needs room for at least 2 units, not {limit}")
    kept = source.tail(clean(markdown), 2 * limit)
    text, spans = rendered(source.finished(kept), converted)
    text = text.rstrip()
    if is_blank(text):
        return Piece("", ())
    offsets = utf16_offsets(text)
    if offsets[-1] <= limit and len(kept) >= len(markdown):
        return _piece(text, spans, 0, len(text))
    start = bisect_left(offsets, offsets[-1] - (limit - 1)) if offsets[-1] >= limit else 0
    if start:
        start = graphemes.boundary_after(text, _neat_start(text, start))
    return _piece(text, spans, start, len(text), "…")


def _neat_start(text: str, start: int) -> int:
    """The start of the next line, else word, if one is near."""
    line = text.find("\n", start, start + min(300, (len(text) - start) // 4))
    word = text.find(" ", start, start + min(50, (len(text) - start) // 4))
    return line + 1 if line >= 0 else word + 1 if word >= 0 else start


def converted(markdown: str) -> tuple[str, list[Span]]:
    """The text and its spans, as Telegram takes them."""
    from bot.rendering.markdown import render

    text, spans = render(markdown, lambda address, label: accepted(address))
    return text, legal(text, _without_headings(spans))


def _without_headings(spans: list[Span]) -> Iterator[Span]:
    """Headings are bold, those of the first level underlined as well."""
    end = 0
    for span in spans:
        if span.type == "heading":
            end = span.end
            yield replace(span, type="bold", level=0)
            if span.level == 1:
                yield replace(span, type="underline", level=0)
        elif span.type != "bold" or span.start >= end:
            yield span


def accepted(address: str) -> str | None:
    """The address as Telegram takes it for a `text_link`, or None: http and https with a real host, tg and ton."""
    if address.startswith("www."):
        address = "https://" + address
    if len(address) > _MAX_ADDRESS:
        return None
    folded = address[:9].lower() + address[9:]
    return address if _WEB.fullmatch(folded) or _APP.fullmatch(folded) else None


def _crowding(spans: list[Span], limit: int) -> Callable[[int, int], int]:
    """Ends a part early to keep its entities, unless it would get so short that dropping some is better."""
    content = [span for span in spans if span.type in _CONTENT]
    starts, ends = _edges(spans)
    content_starts, content_ends = _edges(content)

    def end(start: int, hard: int) -> int:
        allowed = _room(starts, ends, start, hard)
        if allowed - start < min(limit, hard - start) // 4:
            allowed = _room(content_starts, content_ends, start, hard)
        return allowed

    return end


def _edges(spans: list[Span]) -> tuple[list[int], list[int]]:
    return [span.start for span in spans], sorted(span.end for span in spans)


def _room(starts: list[int], ends: list[int], start: int, hard: int) -> int:
    """The last end up to `hard` for which text[start:end] has at most 100 of the spans."""
    begun = bisect_right(starts, start)
    open_before = begun - bisect_right(ends, start)
    last = begun + MAX_ENTITIES - open_before
    return min(hard, starts[last]) if last < len(starts) else hard


def _piece(text: str, spans: list[Span], start: int, end: int, prefix: str = "") -> Piece:
    shown = prefix + text[start:end]
    offsets = utf16_offsets(shown)
    kept = clipped(text, spans, start, end)
    if len(kept) > MAX_ENTITIES:
        by_weight = sorted(range(len(kept)), key=lambda index: (_IMPORTANCE.index(kept[index].type), -index))
        kept = [kept[index] for index in sorted(by_weight[:MAX_ENTITIES])]
    shift = len(prefix)
    entities = (
        Entity(
            span.type,
            offsets[span.start + shift],
            offsets[span.end + shift] - offsets[span.start + shift],
            span.url,
            span.language,
        )
        for span in kept
    )
    return Piece(shown, tuple(entities))

"""Converts Markdown to Telegram messages: text with entities."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.rendering import source
from bot.rendering.plain import clean, is_blank, utf16_offsets
from bot.rendering.spans import Span
from bot.rendering.split import FormattedText, neat_start

MAX_ENTITIES = 100  # a message; the Bot API's server drops the rest
# The last are dropped first; the first three carry content (an address, a block, a secret).
_IMPORTANCE = (
    "text_link", "pre", "spoiler", "blockquote", "code", "bold", "strikethrough", "italic", "underline",
)  # fmt: skip
_CONTENT = _IMPORTANCE[:3]

# In TDLib's LinkManager::check_link_impl, a host without a dot is a "Wrong HTTP URL" and drops the entity, mailto:
# becomes http://mailto:…, and tel: is no URL. Such addresses are shown instead, because the apps make them tappable.
_WEB = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:[^\s/?#@:\[\].]++(?:\.++[^\s/?#@:\[\].]++)++\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#]\S*)?"
)
_APP = re.compile(r"(?:tg|ton)://[A-Za-z0-9_-]+(?:[/?]\S*)?")
_MAX_URL_CHARACTERS = 2048  # characters that all browsers and Telegram clients can open


Entity = dict[str, Any]
"""A MessageEntity of the Bot API; offset and length in UTF-16 units of the piece's text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One message: its text without markup, and its entities, outer ones before inner ones."""

    text: str
    entities: tuple[Entity, ...]


def pieces(markdown: str, limit: int = 4096) -> tuple[Piece, ...]:
    """The whole answer in messages of at most `limit` UTF-16 units; () if nothing is visible.

    Breaks prefer paragraphs, then lines, sentences and words. Both parts of a broken code block are code with its
    language; links and characters are never broken. A part with more than 100 entities ends earlier, or drops the
    least important ones if it would get too short. Text that can't be parsed is sent as it is. Raises ValueError for a
    limit below 2.
    """
    page = _page(clean(markdown))
    made = (_piece(page, start, end) for start, end in page.ranges(limit, _crowding(page.spans, limit)))
    return tuple(piece for piece in made if not is_blank(piece.text))


def preview(markdown: str, limit: int = 4096) -> Piece:
    """An unfinished answer as one message: open markup is closed, and a long answer is "…" and its end.

    The text is empty as long as nothing is visible. Takes no longer for 20,000 characters than for 2 × `limit`. Raises
    ValueError for a limit below 2.
    """
    if limit < 2:
        raise ValueError(f"a message needs room for at least 2 units, not {limit}")
    kept = source.tail(clean(markdown), 2 * limit)
    page = _page(source.finished(kept))
    if is_blank(page.text):
        return Piece("", ())
    offsets, end = utf16_offsets(page.text), len(page.text)
    if offsets[-1] <= limit and len(kept) >= len(markdown):
        return _piece(page, 0, end)
    start = bisect_left(offsets, offsets[-1] - (limit - 1)) if offsets[-1] >= limit else 0
    return _piece(page, neat_start(page.text, start), end, "…")


def _page(markdown: str) -> FormattedText:
    return FormattedText(markdown, lambda address, label: accepted(address), heading)


def heading(span: Span) -> Iterator[Span]:
    """Headings are bold, those of the first level also underlined."""
    yield replace(span, type="bold", level=0)
    if span.level == 1:
        yield replace(span, type="underline", level=0)


def accepted(address: str) -> str | None:
    """The address of a `text_link`; None if Telegram does not accept it. It accepts http and https with a real host, tg
    and ton."""
    if address.startswith("www."):
        address = "https://" + address
    if len(address) > _MAX_URL_CHARACTERS:
        return None
    folded = address[:9].lower() + address[9:]
    return address if _WEB.fullmatch(folded) or _APP.fullmatch(folded) else None


def _crowding(spans: Sequence[Span], limit: int) -> Callable[[int, int], int]:
    """Ends a part early to keep its entities, unless it would get so short that dropping some is better."""
    every = _room(spans)
    content = _room([span for span in spans if span.type in _CONTENT])

    def end(start: int, hard: int) -> int:
        allowed = every(start, hard)
        return content(start, hard) if allowed - start < min(limit, hard - start) // 4 else allowed

    return end


def _room(spans: Sequence[Span]) -> Callable[[int, int], int]:
    """Finds the last end up to `hard` for which text[start:end] has at most 100 of the spans."""
    starts, ends = [span.start for span in spans], sorted(span.end for span in spans)

    def end(start: int, hard: int) -> int:
        last = bisect_right(ends, start) + MAX_ENTITIES
        return min(hard, starts[last]) if last < len(starts) else hard

    return end


def _piece(page: FormattedText, start: int, end: int, prefix: str = "") -> Piece:
    text, kept = prefix + page.text[start:end], page.clipped(start, end)
    offsets, shift = utf16_offsets(text), len(prefix) - start
    if len(kept) > MAX_ENTITIES:
        by_weight = sorted(range(len(kept)), key=lambda index: (_IMPORTANCE.index(kept[index].type), -index))
        kept = [kept[index] for index in sorted(by_weight[:MAX_ENTITIES])]
    return Piece(text, tuple(_entity(span, offsets[span.start + shift], offsets[span.end + shift]) for span in kept))


def _entity(span: Span, start: int, end: int) -> Entity:
    entity: Entity = {"type": span.type, "offset": start, "length": end - start}
    if span.url is not None:
        entity["url"] = span.url
    if span.language is not None:
        entity["language"] = span.language
    return entity

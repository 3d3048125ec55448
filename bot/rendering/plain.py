"""Measures and cleans plain text, and decides whether a text needs the Markdown parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from bot.rendering.spans import Span

# What Telegram's server does not count as content: whitespace (Python's strip covers the Unicode spaces),
# zero-width and direction marks, the braille blank, the object replacement character, line separators.
INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e" + (
    "\u2060\u2800\u3164\ufeff\ufffc"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029]")
TAB = "    "
# Anything that Markdown, or its whitespace rules, might not show literally.
_MARKUP = re.compile(r"[\\`*_~|\[\]<>&$\t]|^[ \-+=#:]|^\d{1,9}[.)]|[^\S\n]$|^[^\S\n]|\n\n\n", re.MULTILINE)
T = TypeVar("T")


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as Telegram counts; a lone surrogate counts as one."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    """The text without characters that Telegram's server would change, which would shift the offsets of entities.

    Line ends become ``\\n`` (the server deletes ``\\r`` and U+2028) and control characters a space, as on the server.
    Surrogate pairs are joined; lone surrogates become U+FFFD, because JSON can't encode them.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub(" ", _BREAKS.sub("\n", text))


def is_blank(text: str) -> bool:
    """Whether Telegram would refuse the text as empty."""
    return not any(not (character.isspace() or character in INVISIBLE) for character in text)


def guarded(convert: Callable[[], T], otherwise: T) -> T:
    """The result of `convert`, or `otherwise` if the Markdown or TeX library refuses the text."""
    try:
        return convert()
    except (ValueError, LookupError, RecursionError):
        return otherwise


def rendered(markdown: str, convert: Callable[[str], tuple[str, list[Span]]]) -> tuple[str, list[Span]]:
    """The visible text of clean Markdown, and its spans. The text stays as written if it can't be converted or nothing
    would be visible."""
    if is_blank(markdown):
        return "", []
    if not _MARKUP.search(markdown.strip()):
        return markdown.strip(), []
    refused: tuple[str, list[Span]] = "", []
    text, spans = guarded(lambda: convert(markdown), refused)
    return (markdown.replace("\t", TAB), []) if is_blank(text) else (text, spans)

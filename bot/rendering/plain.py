"""Plain text: its length, width and boundaries, and what the platforms would change in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeVar

from wcwidth import grapheme_boundary_before, iter_graphemes, wcswidth

# What Telegram's server does not count as content: whitespace (Python's strip covers the Unicode spaces),
# zero-width and direction marks, the braille blank, the object replacement character, line separators.
INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e" + (
    "\u2060\u2800\u3164\ufeff\ufffc"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029]")
TAB = "    "
_MAX_CODE_POINTS = 64  # code points of a character; longer stacks of accents are noise and may be broken
T = TypeVar("T")


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as Telegram counts; a lone surrogate counts as one."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_offsets(text: str) -> Sequence[int]:
    """The offset in UTF-16 units of every index of the text and of its end."""
    if text.isascii() or max(text) <= "\uffff":
        return range(len(text) + 1)
    return list(accumulate((2 if character > "\uffff" else 1 for character in text), initial=0))


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


def boundary_before(text: str, position: int, start: int = 0) -> int:
    """The last boundary in (start, position], or `position` if none is near. `start` is an earlier boundary."""
    found = start + grapheme_boundary_before(text[start : position + 1], position + 1 - start)
    return found if found > max(start, position - _MAX_CODE_POINTS) else position


def boundary_after(text: str, position: int) -> int:
    """The first boundary at or after `position`, or `position` if none is near."""
    start = boundary_before(text, position)
    if start == position:
        return position
    end = start + len(next(iter_graphemes(text, start)))
    return end if end <= position + _MAX_CODE_POINTS else position


def columns(text: str) -> int:
    """Columns in a monospaced font. Measured character by character: a whole text of flags takes quadratic time."""
    return len(text) if text.isascii() else sum(max(0, wcswidth(each)) for each in iter_graphemes(text))

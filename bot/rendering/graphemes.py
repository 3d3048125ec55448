"""Boundaries and widths of visible characters, by wcwidth."""

from __future__ import annotations

from wcwidth import grapheme_boundary_before, iter_graphemes, wcswidth

_MAX_LENGTH = 64  # code points; longer stacks of accents are noise and may be broken


def boundary_before(text: str, position: int, start: int = 0) -> int:
    """The last boundary in (start, position], or `position` if none is near. `start` is an earlier boundary."""
    found = start + grapheme_boundary_before(text[start : position + 1], position + 1 - start)
    return found if found > max(start, position - _MAX_LENGTH) else position


def boundary_after(text: str, position: int) -> int:
    """The first boundary at or after `position`, or `position` if none is near."""
    start = boundary_before(text, position)
    if start == position:
        return position
    end = start + len(next(iter_graphemes(text, start)))
    return end if end <= position + _MAX_LENGTH else position


def columns(text: str) -> int:
    """Columns in a monospaced font. Measured character by character: a whole text of flags takes quadratic time."""
    return len(text) if text.isascii() else sum(max(0, wcswidth(each)) for each in iter_graphemes(text))

"""The ends of visible characters: enough of Unicode's text segmentation to never break emoji or accents.

The \\X of `regex` takes quadratic time on a run of flags.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_MAX_LENGTH = 64  # code points; longer stacks of accents are noise and may be broken


def is_boundary(text: str, position: int, start: int = 0) -> bool:
    """Whether a break before `text[position]` leaves every visible character whole. Flags are counted from `start`, an
    earlier boundary."""
    if position <= 0 or position >= len(text):
        return True
    before, after = text[position - 1], text[position]
    if after < "\u0300":
        return before != _JOINER or after.isspace()
    if before == _JOINER or _extends(after) or unicodedata.combining(before) == 9:
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters(text, start, position) % 2 == 0
    return not _same_syllable(before, after)


def boundary_before(text: str, position: int, start: int) -> int:
    """The last boundary in (start, position], or `position` if none is near."""
    for candidate in range(position, max(start, position - _MAX_LENGTH), -1):
        if is_boundary(text, candidate, start):
            return candidate
    return position


def boundary_after(text: str, position: int) -> int:
    """The first boundary at or after `position`, or `position` if none is near."""
    for candidate in range(position, min(len(text), position + _MAX_LENGTH) + 1):
        if is_boundary(text, candidate):
            return candidate
    return position


def columns(text: str) -> int:
    """Columns in a monospaced font: two for wide characters and emoji, none for what extends another."""
    if text.isascii():
        return len(text)
    total = start = 0
    for position, character in enumerate(text):
        if is_boundary(text, position, start):
            start = position
            following = text[position + 1 : position + 2]
            wide = unicodedata.east_asian_width(character) in "WF" or following == "\ufe0f"
            total += 2 if wide or _is_flag_letter(character) else 1
    return total


def _extends(character: str) -> bool:
    if character == _JOINER or "\U0001f3fb" <= character <= "\U0001f3ff":
        return True
    return unicodedata.category(character)[0] == "M" or "\U000e0020" <= character <= "\U000e007f"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters(text: str, start: int, position: int) -> int:
    """The number of flag letters directly before the position, but after `start`."""
    first = position
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return position - first


def _same_syllable(before: str, after: str) -> bool:
    """Whether two letters of decomposed Hangul belong to one syllable."""
    if not "\u1100" <= after <= "\u11ff":
        return False
    leading = "\u1100" <= before <= "\u115f"
    return leading or (after >= "\u1160" and ("\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"))

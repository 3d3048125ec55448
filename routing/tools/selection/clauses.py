"""Splits a message into clauses."""

from __future__ import annotations

import re

from routing.tools.selection.words import is_unspaced, written

MAX_CLAUSES = 6
"""Later clauses are ignored: a longer message is not a list of requests."""
MIN_WORDS, MIN_CHARACTERS = 2, 4
"""A shorter clause belongs to the one before it."""

_AND = (
    *("and then", "then also", "and also", "and", "then", "also", "und dann", "und", "e poi", "poi", "e", "et puis"),
    *("et ensuite", "et", "puis", "ensuite", "y luego", "y después", "y", "luego", "e depois", "depois", "en dan"),
    *("en", "daarna", "och sedan", "och", "sedan", "og så", "og", "derefter", "i potem", "a potem", "potem", "oraz"),
    *("i", "a onda", "i onda", "ir tada", "tada", "ir", "ve sonra", "sonra", "ve", "dan kemudian", "lalu", "dan"),
    *("и потом", "а потом", "потом", "затем", "и", "сосын", "және", "содан кейін", "ثم", "و ثم", "وبعد ذلك", "و"),
    *("그리고", "그 다음에", "그다음", "그런 다음"),
)
_LINKS = "|".join(sorted(map(re.escape, _AND), key=len, reverse=True))
_MARK = (
    r"(?:(?<![.!?;…])[.!?;…]++(?= |$)|[。！？；\n]+|,(?= )|[，、]|然后|接着|再|それから|そして|その後"
    rf"|(?<= )(?:{_LINKS})(?= ))"
)
_SEAM = re.compile(rf" ?{_MARK}(?: {_MARK})* ?", re.IGNORECASE)
_BLANKS, _LINES = re.compile(r"[^\S\n]+"), re.compile(r" ?\n[ \n]*+")


def clauses(message: str) -> list[str]:
    """The whole message, then its clauses if there are several."""
    found: list[str] = []
    plain = _LINES.sub("\n", _BLANKS.sub(" ", message.strip()))
    for part in filter(None, map(str.strip, _SEAM.split(plain))):
        if found and not _stands_alone(part):
            found[-1] += f" {part}"
        elif len(found) == 1 and not _stands_alone(found[0]):
            found[0] += f" {part}"
        else:
            found.append(part)
    return [message, *found[:MAX_CLAUSES]] if len(found) > 1 else [message]


def _stands_alone(part: str) -> bool:
    return len(part) >= MIN_CHARACTERS if is_unspaced(part) else len(written(part)) >= MIN_WORDS

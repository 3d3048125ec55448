"""Shows names that people chose themselves as plain text, without formatting or links."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

from routing.text import shortened

MAX_NAME_CHARACTERS = 40
QUOTED_CHARACTERS = 100
_DOT = re.compile(r"\.(?=\S)")


def plain_name(name: str) -> str:
    """A name without formatting, links, mentions or commands. Empty if nothing is left."""
    kept = (sign if _is_plain(sign) else " " for sign in islice(name, 200))
    return _DOT.sub(". ", " ".join("".join(kept).split()))[:MAX_NAME_CHARACTERS].strip(" .'-")


def _is_plain(sign: str) -> bool:
    """Whether a character is a letter, a digit, a combining mark, or a separator within names."""
    return sign in " .'-" or unicodedata.category(sign)[0] in "LMN"


def quoted(text: str) -> str:
    """The first QUOTED_CHARACTERS of an outside text on one line, as a code span: no formatting, links, invisible or
    bidirectional control characters."""
    kept = (sign for sign in text[: 4 * QUOTED_CHARACTERS] if sign.isspace() or unicodedata.category(sign)[0] != "C")
    line = " ".join("".join(kept).replace("`", "'").split())
    return f"`{shortened(line, QUOTED_CHARACTERS)}`"

"""How names that people gave themselves are shown: as plain text that formats nothing and links nowhere."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

MAX_NAME = 40
_DOT = re.compile(r"\.(?=\S)")


def plain_name(name: str) -> str:
    """A name without anything that formats a message, makes a link, mentions someone or looks like a command. Empty
    when nothing is left."""
    kept = (sign if _is_plain(sign) else " " for sign in islice(name, 200))
    return _DOT.sub(". ", " ".join("".join(kept).split()))[:MAX_NAME].strip(" .'-")


def _is_plain(sign: str) -> bool:
    """Letters, digits, the marks that some scripts need, and what stands between the parts of a name."""
    return sign in " .'-" or unicodedata.category(sign)[0] in "LMN"


def quoted(text: str, most: int = 100) -> str:
    """The beginning of somebody's text on one line, as a code span: nothing in it is formatted, linked, invisible or
    turns the text around it."""
    kept = (sign for sign in text[: 4 * most] if sign.isspace() or unicodedata.category(sign)[0] != "C")
    line = " ".join("".join(kept).replace("`", "'").split())
    return f"`{line if len(line) <= most else line[: most - 1] + '…'}`"

"""Escapes for text that Discord would read as markup or as a mention."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ZERO_WIDTH = "\u200b"
_ADDRESS = r"(?P<address>https?://[^\s<>`]+)"  # an address keeps its underscores; Discord reads no markup in it
# A backslash does not stop the server from reading a mention; an invisible character does.
_MENTION = r"(?P<mention><(?=@)|@(?=everyone|here))"
_LINE_START = r"(?P<indent>^[ ]*)(?:(?P<bullet>•)|(?P<opening>-#|\#{1,3}|>>>|>|[-+]))(?=[ ]|$)"
_LITERAL = (
    r"(?P<literal>[\\*`]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|\[(?=[^\[\]\n]*\]\()|<(?=\#\d|/[^\n:<>]+:\d|a?:\w+:\d|t:-?\d|id:\w))"
)
_SPECIAL = re.compile("|".join((_ADDRESS, _MENTION, _LINE_START, _LITERAL)), re.MULTILINE)
_LOUD = re.compile("@(?=everyone|here)")
_BRACKET = re.compile(r"(?<!\\)[\[\]]")


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces text[start:end]; inserts where both are the same."""

    start: int
    end: int
    text: str


def changes(text: str) -> Iterator[Change]:
    """The changes in order. A bullet becomes a list item; everything else is shown literally."""
    for match in _SPECIAL.finditer(text):
        start, end = match.span()
        if match["address"]:
            yield from (Change(loud.start(), loud.end(), "%40") for loud in _LOUD.finditer(text, start, end))
        elif match["mention"]:
            yield Change(end, end, ZERO_WIDTH)
        elif match["bullet"]:
            yield Change(end - 1, end, "-")
        elif match["opening"]:
            yield Change(start + len(match["indent"]), start + len(match["indent"]), "\\")
        elif match["literal"]:
            yield Change(start, start, "\\")


def address(url: str) -> str:
    """The address as a link target, without characters that end it and without a mention."""
    for character, code in (("(", "%28"), (")", "%29"), ("<", "%3C"), (">", "%3E")):
        url = url.replace(character, code)
    return _LOUD.sub("%40", url)


def label(written: str) -> str:
    """Escaped text as a link label, without a bracket that ends it."""
    return _BRACKET.sub(r"\\\g<0>", written)


def block(code: str, language: str | None) -> str:
    """A code block. Discord ends it at the first three backticks, so those inside are separated."""
    parted = re.sub("`(?=``)", f"`{ZERO_WIDTH}", code)
    name = language if language and re.fullmatch(r"[A-Za-z0-9_+\-.#]+", language) else ""
    return f"```{name}\n{parted}\n```"


def inline(code: str) -> str:
    """Inline code."""
    if "`" not in code:
        return f"`{code}`"
    parted = re.sub("`(?=`)", f"`{ZERO_WIDTH}", code)
    lead, rest = " " * parted.startswith("`"), " " * parted.endswith("`")
    return f"``{lead}{parted}{rest}``"

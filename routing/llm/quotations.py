"""Removes what was sent to a provider from its error message, which may quote the request."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

_HIDDEN = "…"
_PIECE, _STEP = 24, 8
"""A message is dropped if it shares this many characters in a row with what was sent; compared at every `_STEP`-th."""
_SHORTEST_TEXT, _SHORTEST_WORD = 12, 3
"""Characters of the shortest text that makes a message a quotation, and of the shortest Latin word that is hidden."""
_WORD = re.compile(r"\w+")
_ADJACENT = re.compile(r"…(?:[^\w…]{1,3}…)++")
_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U(000[0-9a-fA-F]{5})|([\"'/])|[abfnrtv0])"
)  # fmt: skip
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{1,31});?")
_COMMON = frozenset(
    _WORD.findall(
        """
access account after again allowed and any api are argument arguments array assistant authentication available bad
balance be been before billing boolean but call calls can cannot characters check code com completion completions
connect connection content context could count credits current data default denied details did does down each error
errors exceed exceeded exceeds exist expected failed failure false field fields file following for format found from
function gateway given has have help here https image images input integer internal invalid its json key language
large later least length less limit limits list long longer many max maximum message messages minimum minute missing
model models more most much must name not number object one only organization other out output overloaded parameter
parameters per permission plan platform please policy project prompt property provided provider quota range rate
reached reason reasoning received request requests required resource response result results retry role roles schema
see server service set short should size status stream string support supported supports system temperature
temporarily text than that the then there these thinking this time timed timeout token tokens too tool tools true try
turn type types unauthorized unavailable unexpected unknown unsupported upstream url use used user valid value values
visit was were when which while with without www you your
"""
    )
)
"""Words of vendors' own error messages: shown even if they were sent."""


def decoded(text: str) -> str:
    """A text on one line, without the escapes of JSON, Python, URLs and HTML."""
    text = unquote(_ENTITY.sub(lambda found: html.unescape(found[0]), _ESCAPE.sub(_character, text)))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", " ".join(text.split()))


def without_sent(text: str, sent: Iterable[str], model: str = "") -> str:
    """A `decoded` error message with `…` for each word that was sent, except common words and those of the model's
    name. Empty if the message quotes a longer piece, or if no word is left. Takes time linear in what was sent, for a
    message of limited length."""
    texts = [form for each in sent for form in {_folded(each), _folded(decoded(each))}]
    everything, folded = "\n".join(texts), _folded(text)
    if any(len(each) >= _SHORTEST_TEXT and each in folded for each in texts):
        return ""
    if any(folded[at : at + _PIECE] in everything for at in range(0, len(folded) - _PIECE + 1, _STEP)):
        return ""
    shown = _COMMON.union(_WORD.findall(_folded(model)))

    def replacement(found: re.Match[str]) -> str:
        word = _folded(found[0])
        return _HIDDEN if word not in shown and _was_sent(word, everything) else found[0]

    text = _ADJACENT.sub(_HIDDEN, _WORD.sub(replacement, text))
    return text if _WORD.search(text) else ""


def _was_sent(word: str, everything: str) -> bool:
    """Whether a word is in what was sent. In other scripts two characters can be a word, so any two count."""
    if word.isascii():
        return len(word) >= _SHORTEST_WORD and word in everything
    return any(word[at : at + 2] in everything for at in range(max(1, len(word) - 1)))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _character(found: re.Match[str]) -> str:
    """The character of an escape; a space for one such as `\\n`."""
    code = found[1] or found[2] or found[3]
    return chr(int(code, 16)) if code else found[4] or " "

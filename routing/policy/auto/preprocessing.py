"""Normalises a message for the classifier: limits its length, folds characters and splits words."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

HEAD, TAIL = 600, 200
"""Characters read from the beginning and the end of a message, where people state what they want."""
CHARACTERS_A_WORD = 6.0
"""Assumed characters per word in the unread part of a long message."""
HAN_A_WORD, THAI_A_WORD = 1.7, 4.5
"""Characters that carry as much as one English word."""
MAX_QUOTE_CHARACTERS = 300
FIRST_WORDS, LAST_WORDS = 120, 40
"""Maximum number of words read; a text of single letters would have more."""

_HAN = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
_THAI = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_INDIC = r"\u0900-\u0dff"
_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0655\u0670\u093c\ufe00-\ufe0f]+")
_LIGATURES = re.compile("[\ufdfa\ufdfb]")
"""Single characters that stand for a whole sentence."""
_DANDA = re.compile("[\u0964\u0965]")
_LETTERS = (("ı", "i"), ("ł", "l"), ("ø", "o"), ("đ", "d"), ("æ", "ae"), ("œ", "oe"), ("’", "'"))
_UNSPACED = re.compile(f"[{_HAN}{_THAI}]+")
_WORD = re.compile(rf"c\+\+|[cf]#|[a-z0-9]+|[\uac00-\ud7a3]+|(?:(?![a-z0-9\uac00-\ud7a3])[^\W_]|[{_INDIC}])+")
_QUOTES = tuple(
    rf"{opened}[^{opened}{closed}\n]{{1,{MAX_QUOTE_CHARACTERS}}}[{closed}]"
    for opened, closed in (('"', '"'), ("“", "”"), ("„", "“”"), ("«", "»"), ("「", "」"), ("『", "』"), ("‘", "’"))
)
_QUOTED = re.compile("|".join((*_QUOTES, rf"(?<!\w)'[^'\n]{{1,{MAX_QUOTE_CHARACTERS}}}'(?!\w)")))
_OPENED = "\"'“„«「『‘"
_QUESTION = re.compile("[?？؟;]+(?=\\s|$|[^\\w&])|？")
_TOLD = re.compile("[.!;:,。！；：，、؛،।]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """`raw` is the part of the message that is read; `text` the same, normalised and without quotations; `words` its
    words except in scripts without spaces; `units` the approximate number of words of the whole message."""

    raw: str
    text: str
    words: tuple[str, ...]
    units: float
    questions: int
    numbers: int
    situation: bool
    """Whether a statement precedes the question."""

    def head(self) -> PreparedMessage:
        """The request before a given text: up to the first colon or line break."""
        end = re.search(r"[:：\n]", self.raw)
        return preprocess(self.raw[: end.start()]) if end and end.start() else self


def preprocess(message: str) -> PreparedMessage:
    """Preprocess a message. The work is bounded for any length."""
    raw = message if len(message) <= HEAD + TAIL else f"{message[:HEAD]}\n{message[-TAIL:]}"
    text = fold(_unquoted(raw))
    words = split(text)
    if len(words) > FIRST_WORDS + LAST_WORDS:
        words = (*words[:FIRST_WORDS], *words[-LAST_WORDS:])
    unread = max(0, len(message) - HEAD - TAIL) / CHARACTERS_A_WORD
    return PreparedMessage(
        raw=raw,
        text=text,
        words=words,
        units=len(words) + unread + _unspaced(text),
        questions=len(_QUESTION.findall(raw)),
        numbers=len(_NUMBER.findall(text)),
        situation=(statement := _TOLD.search(raw)) is not None and max(map(raw.rfind, "?？؟;")) > statement.start(),
    )


def fold(text: str) -> str:
    """Lower-case and normalise a text, without accents and vowel points; cut to at most 1,600 characters."""
    folded = unicodedata.normalize("NFKC", _LIGATURES.sub(" ", text))[: 2 * (HEAD + TAIL)].casefold()
    if folded.isascii():
        return folded
    folded = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", folded)))
    for letter, plain in _LETTERS:
        folded = folded.replace(letter, plain)
    return _DANDA.sub(" ", folded)


def split(folded: str) -> tuple[str, ...]:
    """The words of a normalised text, except in scripts without spaces."""
    return tuple(_WORD.findall(folded if folded.isascii() else _UNSPACED.sub(" ", folded)))


def runs(text: str) -> list[str]:
    """The parts of a text in scripts without spaces."""
    return [] if text.isascii() else _UNSPACED.findall(text)


def is_unspaced(text: str) -> bool:
    return _UNSPACED.search(text) is not None


def _unquoted(raw: str) -> str:
    """Remove quotations, which the person doesn't say themselves; keep the text if nothing else is left."""
    if not any(map(raw.__contains__, _OPENED)):
        return raw
    left = _QUOTED.sub(" ", raw)
    return left if any(map(str.isalpha, left)) else raw


def _unspaced(text: str) -> float:
    found = runs(text)
    thai = sum(len(run) for run in found if run[0] < "\u3040")
    return (sum(map(len, found)) - thai) / HAN_A_WORD + thai / THAI_A_WORD

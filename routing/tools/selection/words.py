"""Text as what is compared: stemmed words, and groups of letters that forgive an ending or a typing error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import Stemmer

GROUP = 4
"""Letters in a group, the marks of a word's ends included. Groups of 3, of 5 and mixtures found no more."""
REMEMBERED = 2_048
"""Words whose stems and letters are kept: those of a message come again in its clauses."""

_WITHOUT_SPACES = r"\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that do not part words: Thai, Lao, Burmese, Khmer, kana, Han."""
_SYLLABLES = r"\uac00-\ud7a3"
_UNSPACED = re.compile(f"[{_WITHOUT_SPACES}]")
_HANGUL = re.compile(f"[{_SYLLABLES}]")
_ASIAN = _WITHOUT_SPACES + _SYLLABLES
_WORD = re.compile(rf"[^\W_{_ASIAN}]+(?:['’][^\W_{_ASIAN}]+)?|(?:(?=[{_ASIAN}])[^\W_])+")
"""A name in Latin letters ends where another script goes on ("GitHub에서")."""
_LETTERS = str.maketrans({"ı": "i", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "’": "'"})
_LAST_LATIN = "\u024f"


@lru_cache(maxsize=REMEMBERED)
def normal(text: str) -> str:
    """Lower case, one form of each character, Latin letters without their marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    kept, base = [], ""
    for character in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(character):
            base = character
        elif base <= _LAST_LATIN:
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS)


def written(text: str) -> list[str]:
    """The words as they stand, in normal form; a run of a script without spaces is one."""
    return _WORD.findall(normal(text))


def is_unspaced(word: str) -> bool:
    return _UNSPACED.search(word) is not None


def words(text: str) -> list[str]:
    """English stems; other alphabets' words as they are, scripts without spaces as pairs of characters, Korean both."""
    return [*chain.from_iterable(map(_tokens, written(text)))]


def letter_groups(text: str) -> list[str]:
    """Every group of letters of each word; characters, pairs and triples where a character is a syllable or a word."""
    return [*chain.from_iterable(map(_letters, written(text)))]


_english = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=REMEMBERED)
def _tokens(word: str) -> tuple[str, ...]:
    if word.isascii():
        return (str(_english.stemWord(word.partition("'")[0])),)
    if is_unspaced(word):
        return tuple(_pairs(word)) or (word,)
    return (word, *_pairs(word)) if _HANGUL.search(word) else (word,)


@lru_cache(maxsize=REMEMBERED)
def _letters(word: str) -> tuple[str, ...]:
    if not word.isascii() and (is_unspaced(word) or _HANGUL.search(word)):
        return (*word, *_pairs(word), *_groups(word, 3))
    return tuple(_groups(f"^{word}$", GROUP))


def _pairs(word: str) -> list[str]:
    return list(_groups(word, 2))


def _groups(word: str, size: int) -> Iterator[str]:
    return (word[start : start + size] for start in range(len(word) - size + 1))

"""Text as what is compared: stemmed words, and groups of letters that forgive an ending or a typing error."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

GROUP = 4
"""Letters in a group, the marks of a word's ends included. Groups of 3, of 5 and mixtures found no more."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NAME_SEAM = re.compile(r"[_\-./:]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts that do not part words: Thai, Lao, Burmese, Khmer, kana, Han."""
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_LETTERS = str.maketrans({"ı": "i", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "’": "'"})
_LAST_LATIN = "\u024f"


@lru_cache(maxsize=4096)
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


def spaced(name: str) -> str:
    """An identifier as words: `getBoxOffice`, `get_box_office`."""
    return " ".join(_NAME_SEAM.sub(" ", name).split())


def written(text: str) -> list[str]:
    """The words as they stand, in normal form; a run of a script without spaces is one."""
    return _WORD.findall(normal(text))


def is_unspaced(word: str) -> bool:
    return _UNSPACED.search(word) is not None


def words(text: str) -> list[str]:
    """English stems; other alphabets' words as they are, scripts without spaces as pairs of characters, Korean both."""
    found: list[str] = []
    for word in written(text):
        if word.isascii():
            found.append(_stem(word.partition("'")[0]))
        elif is_unspaced(word):
            found += _pairs(word) or [word]
        elif _HANGUL.search(word):
            found += [word, *_pairs(word)]
        else:
            found.append(word)
    return found


def letter_groups(text: str) -> list[str]:
    """Every group of letters of each word; characters, pairs and triples where a character is a syllable or a word."""
    found: list[str] = []
    for word in written(text):
        if not word.isascii() and (is_unspaced(word) or _HANGUL.search(word)):
            found += [*word, *_pairs(word), *_groups(word, 3)]
        else:
            found += _groups(f"^{word}$", GROUP)
    return found


def _pairs(word: str) -> list[str]:
    return list(_groups(word, 2))


def _groups(word: str, size: int) -> Iterator[str]:
    return (word[start : start + size] for start in range(len(word) - size + 1))


_english = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return str(_english.stemWord(word))

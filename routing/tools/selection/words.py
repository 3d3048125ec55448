"""Tokens of a text: stemmed words, and letter n-grams that tolerate endings and typos."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TypeVar

import Stemmer

NGRAM = 4
"""Letters of an n-gram, including the marks of word boundaries. Lengths 3, 5 and mixtures were no better."""
CACHED_WORDS = 2_048
"""The words of a message occur again in its clauses."""
MAX_WORD_LENGTH = 24
"""Longer texts, such as sentences in scripts without spaces, have large results, so only CACHED_TEXTS are cached."""
CACHED_TEXTS = 16
T = TypeVar("T")

_WITHOUT_SPACES = (
    r"\u0e01-\u0e3a\u0e40-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_SYLLABLES = r"\uac00-\ud7a3"
_UNSPACED = re.compile(f"[{_WITHOUT_SPACES}]")
_HANGUL = re.compile(f"[{_SYLLABLES}]")
_ASIAN = _WITHOUT_SPACES + _SYLLABLES
_MARKS = "".join(chr(code) for code in range(0x900, 0x1100) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
"""Vowel signs and the like of the scripts from Devanagari to Burmese, which are no word characters in `re`."""
_WORD = re.compile(
    rf"[^\W_{_ASIAN}]+(?:[{_MARKS}]+[^\W_{_ASIAN}]*)*(?:['’][^\W_{_ASIAN}]+)?|(?:(?=[{_ASIAN}])[^\W_]|[{_MARKS}])+"
)
"""A Latin name ends where another script continues ("GitHub에서")."""
_LETTERS = str.maketrans({"ı": "i", "ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "’": "'"})
_LAST_GREEK = "\u03ff"
"""The last letter of the alphabets, Latin and Greek, that many people write without diacritics."""


def _cached(function: Callable[[str], T]) -> Callable[[str], T]:
    """Cache the results for the latest words and longer texts."""
    words, texts = lru_cache(CACHED_WORDS)(function), lru_cache(CACHED_TEXTS)(function)
    return lambda text: (words if len(text) <= MAX_WORD_LENGTH else texts)(text)


@_cached
def normal(text: str) -> str:
    """Case-folded, in Unicode normal form, Latin and Greek letters without diacritics."""
    folded = folded_case(text)
    if folded.isascii():
        return folded
    kept, base = [], ""
    for character in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(character):
            base = character
        elif base <= _LAST_GREEK:
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS)


def folded_case(text: str) -> str:
    """Case-folded, in Unicode normal form, with diacritics."""
    return unicodedata.normalize("NFKC", text).casefold()


def written(text: str) -> list[str]:
    """The words in normal form; a run of a script without spaces is one word."""
    return _WORD.findall(normal(text))


def written_with_diacritics(text: str) -> list[str]:
    """The words with their diacritics, for languages in which these tell words apart."""
    return _WORD.findall(folded_case(text))


def is_unspaced(word: str) -> bool:
    return _UNSPACED.search(word) is not None


def words(text: str) -> list[str]:
    """English stems; other alphabets unchanged; scripts without spaces as character pairs; Korean both."""
    return [*chain.from_iterable(map(_tokens, written(text)))]


def letter_ngrams(text: str) -> list[str]:
    """Letter n-grams of each word; for Korean and scripts without spaces characters, pairs and triples."""
    return [*chain.from_iterable(map(_letters, written(text)))]


_english = Stemmer.Stemmer("english", 0)


@_cached
def _tokens(word: str) -> tuple[str, ...]:
    if word.isascii():
        return (str(_english.stemWord(word.partition("'")[0])),)
    if is_unspaced(word):
        return tuple(_pairs(word)) or (word,)
    return (word, *_pairs(word)) if _HANGUL.search(word) else (word,)


@_cached
def _letters(word: str) -> tuple[str, ...]:
    if not word.isascii() and (is_unspaced(word) or _HANGUL.search(word)):
        return (*word, *_pairs(word), *_ngrams(word, 3))
    return tuple(_ngrams(f"^{word}$", NGRAM))


def _pairs(word: str) -> list[str]:
    return list(_ngrams(word, 2))


def _ngrams(word: str, size: int) -> Iterator[str]:
    return (word[start : start + size] for start in range(len(word) - size + 1))

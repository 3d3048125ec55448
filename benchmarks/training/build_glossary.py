"""Compiles the glossary: run `python -m benchmarks.training.build_glossary` after changing one of its files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterator
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray

from routing.tools.selection.glossary import (
    ENGLISH,
    KOREAN,
    MIN_PREFIX,
    STEMMERS,
    TABLE,
    UNSPACED,
    Kind,
    hashed,
    readers,
    spelled,
)
from routing.tools.selection.words import normal, written

FOLDER = TABLE.parent / "glossaries"
COMMON = "en.txt"
"""Frequent English words, one per line, from `benchmarks.training.common_words`. A message of only these is English,
even if one of them exists in another language ("regards")."""
_SMALL = "for with in on at to of from by and or is are the a an my me i you it we they this that not"
SMALL = frozenset(_SMALL.split())
"""English words that win when several have the same translation."""
MONOSYLLABIC = ("vi",)
"""Languages of one-syllable words, many of which are English words when written without diacritics ("can", "to")."""
WHOLE = 0.75
"""Minimum share of a word that a prefix must have to identify it."""

_BRACKETS = re.compile(r"(?<!\s)\s*+\([^()]*\)")
_COMMA = re.compile(r"[,;、，/]\s*")


def compiled(folder: Path = FOLDER) -> dict[str, NDArray[Any]]:
    """The arrays of the table for all languages."""
    meanings: dict[int, int] = {}
    speakers: dict[int, int] = {}
    english: dict[str, int] = {}
    files = sorted(folder.glob("*.tsv"))
    common = (folder / COMMON).read_text("utf-8").split() if (folder / COMMON).exists() else []
    for bit, path in enumerate(files, 1):
        language = path.stem
        stemmer = Stemmer.Stemmer(STEMMERS[language]) if language in STEMMERS else None
        lines = [*_lines(path)]
        for meant, form in lines:
            english.setdefault(meant, len(english))
            _speaks(speakers, 0, meant)
            if language not in UNSPACED:
                _speaks(speakers, bit, form, without=common if language in MONOSYLLABIC else ())
        for read in readers(language):
            for meant, form in lines:
                for kind, text in _keys(language, spelled(language, form), read, stemmer):
                    meanings.setdefault(hashed(f"{language}{kind}{text}"), english[meant])
    keys, words = sorted(meanings), sorted(speakers)
    return {
        "keys": np.array(keys, "<u8"),
        "values": np.array([meanings[key] for key in keys], "<u2"),
        "words": np.array(words, "<u8"),
        "speakers": np.array([speakers[word] for word in words], "<u8"),
        "common": np.array(sorted(map(hashed, common)), "<u8"),
        "english": np.array("\n".join(english)),
        "languages": np.array("\n".join((ENGLISH, *(path.stem for path in files)))),
    }


def _speaks(speakers: dict[int, int], bit: int, form: str, without: Collection[str] = ()) -> None:
    for word in written(form):
        if word in without:
            continue
        speakers[hashed(word)] = speakers.get(hashed(word), 0) | 1 << bit


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """(English, form) pairs, the most frequent forms first, and small words before others; the first of equal forms
    wins."""
    lines = [line.split("\t") for line in path.read_text("utf-8").splitlines() if "\t" in line]
    forms = [(_BRACKETS.sub("", meant).strip().lower(), _COMMA.split(_BRACKETS.sub("", rest))) for meant, rest in lines]
    forms.sort(key=lambda each: each[0] not in SMALL)
    for rank in range(max(len(each) for _, each in forms)):
        yield from ((meant, each[rank]) for meant, each in forms if rank < len(each))


def _keys(
    language: str, form: str, read: Callable[[str], list[str]], stemmer: Stemmer.Stemmer | None
) -> Iterator[tuple[Kind, str]]:
    if language in UNSPACED:
        if text := normal(form).strip():
            yield "=", text
        return
    words = read(form)
    if not words:
        return
    yield "=", " ".join(words)
    if len(words) > 1:
        yield "<", f"{words[0]} "
        return
    (word,) = words
    if stemmer:
        yield "~", stemmer.stemWord(word)
    if language != KOREAN:
        yield from (("<", word[:length]) for length in range(len(word), _shortest(word) - 1, -1))


def _shortest(word: str) -> int:
    """Length of the shortest prefix that identifies a word."""
    return max(MIN_PREFIX, ceil(WHOLE * len(word)))


if __name__ == "__main__":
    argparse.ArgumentParser("benchmarks.training.build_glossary", description=__doc__).parse_args()
    np.savez_compressed(TABLE, allow_pickle=False, **compiled())

"""Glosses other languages in English word by word, so that one English encoder serves them all.

A gloss is not a translation: "schalte das Licht im Flur aus" becomes "switch off that light in hallway". Unknown words,
such as names, are kept. The sources are `glossaries/<language>.tsv`, written for this project;
`benchmarks.training.build_glossary` compiles them into one table of hashes."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import Stemmer
from numpy.typing import NDArray

from routing.tools.selection.words import is_unspaced, normal, written, written_with_diacritics

TABLE = Path(__file__).parent / "glossary.npz"

ENGLISH = "en"
STEMMERS = {
    **{"ar": "arabic", "da": "danish", "de": "german", "es": "spanish", "fr": "french", "id": "indonesian"},
    **{"it": "italian", "lt": "lithuanian", "nl": "dutch", "pl": "polish", "pt": "portuguese", "ru": "russian"},
    **{"sr": "serbian", "sv": "swedish", "tr": "turkish", "cs": "czech", "ro": "romanian", "hu": "hungarian"},
    **{"fi": "finnish", "no": "norwegian", "el": "greek", "fa": "persian", "hi": "hindi"},
}
_ALPHABETS = (
    (0x370, 0x400, ("el",)),
    (0x400, 0x530, ("ru", "sr", "kk")),
    (0x600, 0x700, ("ar", "fa")),
    (0x900, 0x980, ("hi",)),
)
"""First and last + 1 code point of each alphabet but Latin, and the languages whose inflected words are recognised."""
_LATIN = tuple(code for code in STEMMERS if code == "sr" or not any(code in codes for *_, codes in _ALPHABETS))
_LAST_LATIN = 0x24F
UNSPACED = {"ja": 12, "zh": 12, "th": 20}
"""Languages without spaces between words, with the maximum length of a word in characters."""
COMPOUNDING = ("da", "de", "fi", "hu", "nl", "no", "sv")
WITH_DIACRITICS = ("cs", "fi", "fr", "hu", "it", "no", "ro", "vi")
"""Languages whose words are told apart by diacritics, for people who write them."""
WITHOUT_SEPARABLE_VERBS = ("bn", "fr", "hi", "it", "ur", "vi")
"""Languages without separable verbs, whose phrases of two words would be found by accident."""
VERB_FINAL = ("kk", "tr")
"""Languages whose last word begins the gloss, as the verb begins an English request."""
ELIDING = ("fr", "it")
"""Languages that drop vowels before an apostrophe ("l'heure", "dov'è")."""
KOREAN, SERBIAN = "ko", "sr"
_APOSTROPHES = str.maketrans("'’", "  ")
_CYRILLIC: dict[str, int | str] = {
    **dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True)),
    **{"љ": "lj", "њ": "nj", "џ": "dž"},
}
_SPELLINGS: Mapping[str, Mapping[int, int | str]] = {
    **dict.fromkeys(ELIDING, _APOSTROPHES),
    SERBIAN: str.maketrans(_CYRILLIC | {letter.upper(): latin for letter, latin in _CYRILLIC.items()}),
}
"""How texts are respelled before they are looked up: apostrophes as spaces, Serbian in Latin letters."""
_ENDINGS = {
    "kk": re.compile(
        "(?:[лдт][ае]р|с?[ыі]|[ыі]?[мң]|[ыі]?[мң][ыі]з"
        "|[дтн][ыі]ң?|н|[ғгқк][ае]н?|[дтн][ае]н?|н[дт][ае]н?|[мбп]ен|[ғгқк][ыі]|л[ыі][қк]?|[дт][ае]й|р[ае][қк]"
        "|у|а|е|й|[ыі]?п|[ае]?й?т[ыі]н|с[ае]|[мбп][ае]|ш[ыіае]|[мй][ыі]н|с[ыі][ңз]|й[ыі][қк]){1,4}"
    )
}
"""Chains of endings of languages without a stemmer: plural and person; case and the like; verbs."""
_VOICELESS = str.maketrans("бгғ", "пкқ")
"""A Kazakh stem's last letter without an ending: кітап, кітабы."""

MAX_PHRASE_WORDS, GAP = 4, 5
"""Words of a phrase, and words between the parts of a separable verb (`schalte … aus`)."""
MIN_STEM, MIN_PREFIX = 3, 4
MAX_ENDING_SHARE = 0.45
"""Maximum share of a word that may be an ending unknown to the stemmer (agglutinative languages)."""
MAX_ENDING = 16
"""Letters of a chain of endings."""
SHARED = 0.15
"""How much a word's vote shrinks with each other language that has it."""
KNOWN_STEM = 0.5
OWN_ENGLISH = 0.9
LEAD = 0.6
"""Votes that English has in advance when titles are left out; one known stem of another language is too few."""

MAX_WORD_CHARACTERS = 60
"""Letters; longer strings are not looked up."""
CACHED_WORDS = 2_048

_CAPITAL = r"[A-Z][A-Za-z][\w'’]*+"
_MORE = rf"(?:\W++(?:[a-z]++\W++){{0,2}}{_CAPITAL})"
_WITHIN = rf"(?<=\S\s){_CAPITAL}{_MORE}*+"
_TITLES = re.compile(_WITHIN), re.compile(f"^{_CAPITAL}{_MORE}++|{_WITHIN}")
"""Words with capital letters, with up to two others between them: within a text, and also at its beginning."""
_KANA = re.compile(r"[\u3040-\u30ff]")
_THAI = re.compile(r"[\u0e01-\u0e3a\u0e40-\u0e4e]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")

Kind = Literal["=", "~", "<"]
"""Whole form, stem, or beginning of a word."""


class Glossary:
    """Detects the language of a text and glosses it."""

    def __init__(self, table: Mapping[str, NDArray[Any]]) -> None:
        """`keys`, `words` and `common` are sorted hashes. `values` are the indices of the meanings of `keys` in
        `english`, `speakers` the bit sets of the `languages` that have each of `words`, `common` frequent English
        words."""
        self._keys = array("Q", table["keys"].tobytes())
        self._values = array("H", table["values"].tobytes())
        self._words = array("Q", table["words"].tobytes())
        self._speakers = array("Q", table["speakers"].tobytes())
        self._common = array("Q", table["common"].tobytes())
        self._english = str(table["english"]).split("\n")
        self._languages = str(table["languages"]).split("\n")
        self._stemmers = {code: Stemmer.Stemmer(name, 0) for code, name in STEMMERS.items()}
        self._votes = lru_cache(CACHED_WORDS)(self._count)
        self._is_common = lru_cache(CACHED_WORDS)(lambda word: _place(self._common, word) is not None)

    @classmethod
    def load(cls, table: Path = TABLE) -> Self:
        """Read the table: a few milliseconds, a few megabytes."""
        with np.load(table) as stored:
            return cls(stored)

    def gloss(self, text: str) -> str:
        """The text with its known words in English; English text is returned unchanged."""
        language = self.language(text)
        if language == ENGLISH:
            return text
        found = [*(self._running(language, text) if language in UNSPACED else self._spaced(language, text))]
        return " ".join(found[-1:] + found[:-1] if language in VERB_FINAL else found)

    def language(self, text: str) -> str:
        """The code of the most likely known language: that of the words in another alphabet than Latin, else of all
        words, else of those that are in no title. English titles occur in all languages."""
        if len(_HANGUL.findall(text)) > 1:
            return KOREAN
        if is_unspaced(text):
            thai, kana = len(_THAI.findall(text)), len(_KANA.findall(text))
            if thai > kana + len(_HAN.findall(text)):
                return "th"
            return "ja" if kana else "zh"
        for words, lead in _ballots(text):
            if not all(map(self._is_common, words)) and (code := self._elected(words, lead)) != ENGLISH:
                return code
        return ENGLISH

    def _elected(self, words: Sequence[str], lead: float) -> str:
        """The language with the most votes; English starts with a lead."""
        votes: defaultdict[str, float] = defaultdict(float, {ENGLISH: lead})
        for word in words:
            for code, share in self._votes(word):
                votes[code] += share
        return max(votes, key=votes.__getitem__)

    def _count(self, word: str) -> tuple[tuple[str, float], ...]:
        """A word's votes: (language, weight)."""
        speakers, latin = self._spoken(word), normal(spelled(SERBIAN, word))
        if latin != word and SERBIAN in self._spoken(latin):
            speakers.append(SERBIAN)
        if not speakers and len(rest := word.partition("'")[2]) >= MIN_STEM:
            return tuple((code, share) for code, share in self._count(rest) if code in ELIDING)
        if speakers or len(word) < MIN_PREFIX:
            share = 1 / (1 + SHARED * (len(speakers) - (ENGLISH in speakers) - 1))
            return tuple((code, OWN_ENGLISH if code == ENGLISH else share) for code in speakers)
        inflecting = ((code, normal(spelled(code, word))) for code in _inflecting(word))
        return tuple((code, KNOWN_STEM) for code, form in inflecting if self._inflected(code, form))

    def _spaced(self, language: str, text: str) -> Iterator[str]:
        words: list[str | None] = [*readers(language)[0](spelled(language, text))]
        for start, word in enumerate(words):
            if word is None:
                continue
            place, meant = self._phrase(language, words, start)
            for each in place:
                words[each] = None
            yield meant if place else self._word(language, word)

    def _phrase(self, language: str, words: Sequence[str | None], start: int) -> tuple[Sequence[int], str]:
        """The places and meaning of the longest phrase that starts here, else of a separable verb."""
        if self._find(language, "<", f"{words[start]} ") is None:
            return (), ""
        for size in range(min(MAX_PHRASE_WORDS, len(words) - start), 1, -1):
            *before, last = (word for word in words[start : start + size] if word is not None)
            forms = (" ".join((*before, form)) for form in _without_endings(language, last))
            if len(before) == size - 1 and (meant := self._first(language, forms)):
                return range(start, start + size), meant
        for end in range(start + 2, 0 if language in WITHOUT_SEPARABLE_VERBS else min(start + 2 + GAP, len(words))):
            if words[end] is not None and (meant := self._find(language, "=", f"{words[start]} {words[end]}")):
                return (start, end), meant
        return (), ""

    def _word(self, language: str, word: str) -> str:
        """A word's meaning by form, stem, beginning or compound parts; else the word itself."""
        if len(word) > MAX_WORD_CHARACTERS:
            return word
        if meant := self._find(language, "=", word):
            return meant
        if meant := self._inflected(language, word):
            return meant
        if language == KOREAN:
            return " ".join(self._korean(word))
        for length in range(len(word) - 1, max(MIN_PREFIX - 1, int(len(word) * (1 - MAX_ENDING_SHARE))), -1):
            if meant := self._find(language, "<", word[:length]):
                return meant
        return self._compound(language, word) if language in COMPOUNDING else word

    def _inflected(self, language: str, word: str) -> str | None:
        """The meaning of a word's stem."""
        if language in _ENDINGS:
            return self._first(language, _without_endings(language, word))
        stem = self._stem(language, word)
        return self._find(language, "~", stem) if len(stem) >= MIN_STEM else None

    def _first(self, language: str, forms: Iterable[str]) -> str | None:
        """The meaning of the first known form."""
        return next(filter(None, (self._find(language, "=", form) for form in forms)), None)

    def _korean(self, word: str) -> Iterator[str]:
        """Longest match first: particles and endings follow without a space."""
        rest = word
        while rest:
            for length in range(len(rest), 0, -1):
                if meant := self._find(KOREAN, "=", rest[:length]):
                    yield meant
                    rest = rest[length:] if len(rest) > length + 1 else ""
                    break
            else:
                if rest == word:
                    yield word
                return

    def _compound(self, language: str, word: str) -> str:
        for seam in range(len(word) - MIN_PREFIX, MIN_PREFIX - 1, -1):
            head, tail = word[:seam], word[seam:]
            last = self._find(language, "=", tail) or self._find(language, "~", self._stem(language, tail))
            first = self._find(language, "=", head) or self._find(language, "=", head.rstrip("sn"))
            if last and first:
                return f"{first} {last}"
        return word

    def _running(self, language: str, text: str) -> Iterator[str]:
        """Longest match from left to right; text between matches is kept."""
        whole, start, kept = normal(text), 0, 0
        while start < len(whole):
            for length in range(0 if whole[start].isascii() else min(UNSPACED[language], len(whole) - start), 0, -1):
                if meant := self._find(language, "=", whole[start : start + length]):
                    yield from filter(None, (whole[kept:start].strip(), meant))
                    start = kept = start + length
                    break
            else:
                start += 1
        if rest := whole[kept:].strip():
            yield rest

    def _stem(self, language: str, word: str) -> str:
        stemmer = self._stemmers.get(language)
        return stemmer.stemWord(word) if stemmer else word

    def _find(self, language: str, kind: Kind, text: str) -> str | None:
        place = _place(self._keys, f"{language}{kind}{text}")
        return None if place is None else self._english[self._values[place]]

    def _spoken(self, word: str) -> list[str]:
        place = _place(self._words, word)
        mask = 0 if place is None else self._speakers[place]
        return [code for bit, code in enumerate(self._languages) if mask >> bit & 1]


def _ballots(text: str) -> Iterator[tuple[Sequence[str], float]]:
    """Words that may tell the language, and the votes that English has in advance."""
    tokens = written(text)
    yield [word for word in tokens if ord(word[0]) > _LAST_LATIN], 0.0
    yield tokens, 0.0
    for title in _TITLES:
        if (untitled := title.sub("", text)) != text:
            yield written(untitled), LEAD


def spelled(language: str, text: str) -> str:
    """The text in the spelling of the glossary."""
    return text.translate(_SPELLINGS.get(language, {}))


def _without_endings(language: str, word: str) -> Iterator[str]:
    """A word, and what is left of it without each chain of endings, the shortest first."""
    yield word
    if endings := _ENDINGS.get(language):
        seams = range(len(word) - 1, max(1, len(word) - MAX_ENDING - 1), -1)
        for stem in (word[:seam] for seam in seams if endings.fullmatch(word, seam)):
            yield from (stem, stem[:-1] + stem[-1].translate(_VOICELESS))


def readers(language: str) -> tuple[Callable[[str], list[str]], ...]:
    """How words are read, the most exact way first."""
    return (written_with_diacritics, written) if language in WITH_DIACRITICS else (written,)


def _inflecting(word: str) -> Sequence[str]:
    """The languages whose inflected words are recognised, for the alphabet of a word."""
    first = ord(word[0])
    if first <= _LAST_LATIN:
        return _LATIN
    return next((codes for start, end, codes in _ALPHABETS if start <= first < end), ())


def _place(keys: Sequence[int], text: str) -> int | None:
    key = hashed(text)
    place = bisect_left(keys, key)
    return place if place < len(keys) and keys[place] == key else None


def hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")

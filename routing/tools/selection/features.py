"""What speaks for each entry of a catalogue when somebody says something: about twenty numbers an entry, all absolute,
so that they mean the same in every catalogue (row-wise scores and ranks lose whether anything fits at all)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from routing.text import spaced
from routing.tools.selection.entries import Entry
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index import Index
from routing.tools.selection.passages import Owners, Texts
from routing.tools.selection.words import letter_groups, words
from routing.types.vectors import Floats

LEXICAL = (
    *("bm25", "coverage", "passage bm25", "passage coverage", "passage cosine", "letters of descriptions"),
    *("letters of examples", "letters", "letters of keywords", "keywords", "own keyword", "name"),
)
DENSE = (
    *("descriptions", "description", "examples", "examples > 0.5", "many examples", "best", "best > 0.4", "best > 0.6"),
    *("best > 0.8", "best × passage cosine", "best × coverage", "√(best × passage coverage)"),
)
QUESTION = (
    *("negatives", "negatives > 0.5", "words of negatives", "words", "best of all", "best - negatives"),
    *("coverage of all", "entries", "no examples", "chatter", "chatter > 0", "chatter > 2", "chatter > 4"),
)
"""What speaks for no entry at all."""

MOST_HITS, MOST_EXAMPLES, ALIKE = 3.0, 3.0, 0.35
ABREAST = 384
"""Passages in one product of matrices: OpenBLAS has a quicker way for small ones."""
LONGEST_KEYWORD = 3
"""Words."""


class LexicalEvidence:
    """The words and letters that a clause shares with each entry."""

    def __init__(self, entries: Sequence[Entry], texts: Texts, glossary: Glossary, index: Index | None = None) -> None:
        count = len(entries)
        made = (Index() if index is None else index).postings
        self._entries = made("words", lambda: (words(self._whole(entry, glossary)) for entry in entries))
        self._passages = made(
            "words of passages", lambda: (words(text) for text in (*texts.described, *texts.examples))
        )
        self._passages_by = Owners([*texts.described_by.passages, *texts.examples_by.passages], count)
        self._letters = made("letters", lambda: (letter_groups(text) for text in texts.described))
        self._example_letters = made("letters of examples", lambda: (letter_groups(text) for text in texts.examples))
        self._keyword_letters = made(
            "letters of keywords", lambda: (letter_groups(" ".join(entry.keywords)) for entry in entries)
        )
        self._names = made("names", lambda: (words(spaced(entry.name)) for entry in entries))
        self._negatives = made("words of negatives", lambda: (words(text) for text in texts.negatives))
        self._keywords = _keywords(entries)
        self._texts = texts
        self._count = count

    def of(self, clauses: Sequence[str], glosses: Sequence[str]) -> list[tuple[Floats, float]]:
        """For each clause, the better of it and its gloss: one row for each entry, one column for each of LEXICAL; and
        how alike they are in words to what people say when they want nothing done. All at once: that is quicker."""
        texts = list(dict.fromkeys((*clauses, *glosses)))
        tokens = [words(text) for text in texts]
        found = dict(zip(texts, self._of(tokens, [letter_groups(text) for text in texts]), strict=True))
        negatives = dict(zip(texts, self._negatives.match_all(tokens).cosine.max(1, initial=0.0).tolist(), strict=True))
        return [
            (np.maximum(found[clause], found[gloss]).T, max(negatives[clause], negatives[gloss]))
            for clause, gloss in zip(clauses, glosses, strict=True)
        ]

    def _of(self, tokens: Sequence[Sequence[str]], letters: Sequence[Sequence[str]]) -> Floats:
        """For each text a row for each of LEXICAL, a column for each entry."""
        entry, passage = self._entries.match_all(tokens), self._passages.match_all(tokens)
        described = self._texts.described_by.best(self._letters.match_all(letters).cosine)
        said = self._texts.examples_by.best(self._example_letters.match_all(letters).cosine)
        hits, own = zip(*map(self._hits, tokens), strict=True)
        columns = (
            *(entry.bm25, entry.coverage),
            *map(self._passages_by.best, (passage.bm25, passage.coverage, passage.cosine)),
            *(described, said, np.maximum(described, said)),
            *(self._keyword_letters.match_all(letters).cosine, np.stack(hits), np.stack(own)),
            self._names.match_all(tokens).cosine,
        )
        return np.stack(columns, 1)

    def named(self, clause: str) -> tuple[int, ...]:
        """The entries that have the whole of it as a keyword."""
        return self._keywords.get(tuple(words(clause)), ((), 0.0))[0]

    def _hits(self, tokens: Sequence[str]) -> tuple[Floats, Floats]:
        """How many keywords of each entry are said, and how few groups share the rarest of them."""
        hits, own = np.zeros(self._count, np.float32), np.zeros(self._count, np.float32)
        for size in range(1, LONGEST_KEYWORD + 1):
            for start in range(len(tokens) - size + 1):
                theirs, share = self._keywords.get(tuple(tokens[start : start + size]), ((), 0.0))
                for entry in theirs:
                    hits[entry] += 1
                    own[entry] = max(own[entry], share)
        return np.minimum(hits, MOST_HITS), own

    def _whole(self, entry: Entry, glossary: Glossary) -> str:
        texts = (*entry.texts, entry.category, *entry.keywords, entry.parameters, *entry.examples)
        glosses = (gloss for text in (*entry.texts, entry.parameters) if (gloss := glossary.gloss(text)) != text)
        return " ".join((*texts, *glosses))


def _keywords(entries: Sequence[Entry]) -> dict[tuple[str, ...], tuple[tuple[int, ...], float]]:
    """The entries of each keyword, and one by the number of their groups."""
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, entry in enumerate(entries):
        for keyword in dict.fromkeys(tuple(words(each)) for each in entry.keywords):
            found[keyword].append(at)
    return {
        keyword: (tuple(theirs), 1 / len({entries[at].group for at in theirs}))
        for keyword, theirs in found.items()
        if keyword
    }


@dataclass(frozen=True, slots=True)
class Likeness:
    """The cosines of some texts' vectors with all passages, a row for each text."""

    described: Floats
    examples: Floats
    descriptions: Floats
    negatives: Floats


class DenseEvidence:
    """How alike a text is to what is said of each entry. All vectors have length 1."""

    def __init__(self, texts: Texts, vectors: Vectors) -> None:
        self._texts = texts
        parts = (vectors.described, vectors.examples, vectors.descriptions, vectors.negatives)
        self._turned = np.ascontiguousarray(np.concatenate(parts).T)
        self._ends = np.cumsum([len(part) for part in parts])[:-1]

    def likeness(self, vectors: Floats) -> Likeness:
        """Of all texts of a message at once, a row each."""
        count = self._turned.shape[1]
        found = np.empty((len(vectors), count), np.float32)
        abreast = ABREAST if len(vectors) > 1 else max(1, count)
        for start in range(0, count, abreast):
            np.matmul(vectors, self._turned[:, start : start + abreast], out=found[:, start : start + abreast])
        return Likeness(*np.split(found, self._ends, 1))

    def of(self, alike: Likeness, texts: Sequence[int], lexical: Floats) -> Floats:
        """One row for each entry, one column for each of DENSE; the best of `texts`, rows of `alike`."""
        described = self._texts.described_by.best(_best(alike.described, texts))
        examples = _best(alike.examples, texts)
        said = self._texts.examples_by.best(examples)
        by = self._texts.examples_by
        many = np.bincount(by.passages, np.maximum(examples - ALIKE, 0), by.count).astype(np.float32)
        description = _best(alike.descriptions, texts)
        best = np.maximum(np.maximum(described, said), description)
        cosine, coverage = lexical[:, LEXICAL.index("passage cosine")], lexical[:, LEXICAL.index("coverage")]
        passage = lexical[:, LEXICAL.index("passage coverage")]
        columns = (
            *(described, description, said, np.maximum(said - 0.5, 0), np.minimum(many, MOST_EXAMPLES), best),
            *(np.maximum(best - 0.4, 0), np.maximum(best - 0.6, 0), np.maximum(best - 0.8, 0)),
            *(best * cosine, best * coverage, np.sqrt(np.maximum(passage * best, 0))),
        )
        return np.array(columns).T


def _best(alike: Floats, texts: Sequence[int]) -> Floats:
    best: Floats = alike[texts[0]] if len(texts) == 1 else alike[texts].max(0)
    return best


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of all passages of a catalogue, a row each."""

    described: Floats
    examples: Floats
    descriptions: Floats
    negatives: Floats


def question(
    clause: str,
    lexical: Floats,
    dense: Floats | None,
    negatives: tuple[float, float],
    has_examples: bool,
    chatter: float = 0.0,
) -> Floats:
    """The numbers of QUESTION; `negatives` by vectors and by words, `chatter` the odds of small talk."""
    alike, said = negatives
    best = 0.0 if dense is None else float(dense[:, DENSE.index("best")].max(initial=0.0))
    coverage = float(lexical[:, LEXICAL.index("coverage")].max(initial=0.0))
    length = float(np.log1p(len(words(clause))))
    entries = float(np.log(max(1, len(lexical))))
    talk = (chatter, max(chatter, 0), max(chatter - 2, 0), max(chatter - 4, 0))
    likes = (alike, max(alike - 0.5, 0), said, length, best, best - alike, coverage, entries)
    return np.array((*likes, float(not has_examples), *talk), np.float32)

"""The features of a message for each entry of a catalogue.

All are absolute, so that they mean the same in every catalogue: row-wise scores and ranks lose whether anything fits at
all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from routing.text import split_identifier
from routing.tools.selection.entries import Entry, PassageOwners, Passages
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache
from routing.tools.selection.words import letter_ngrams, words
from routing.types.vectors import Floats

LEXICAL = ("bm25", "coverage", "coverage of few words", "passage cosine", "letters", "own keyword", "name")
DENSE = ("descriptions", "many examples", "best", "best > 0.4")
QUESTION = (
    *("negatives", "words of negatives", "best of all", "coverage of all"),
    *("entries", "no examples", "small talk", "small talk > 0"),
)
"""Features of the message itself, in favour of no entry."""

MAX_EXAMPLES, SIMILAR = 3.0, 0.35
BLOCK = 384
"""Passages per matrix product: OpenBLAS is faster for small ones."""
FEW_WORDS = 4
"""From this many words on, a message is not short."""
KEYWORD_WORDS = 3
"""Maximum number of words of a keyword."""


class LexicalFeatures:
    """Features from the words and letters that a clause shares with each entry."""

    def __init__(
        self, entries: Sequence[Entry], passages: Passages, glossary: Glossary, cache: IndexCache | None = None
    ) -> None:
        count = len(entries)
        made = (IndexCache() if cache is None else cache).postings
        self._entries = made("words", lambda: (words(self._whole(entry, glossary)) for entry in entries))
        self._passages = made(
            "words of passages", lambda: (words(text) for text in (*passages.described, *passages.examples))
        )
        self._passages_by = PassageOwners([*passages.described_by.passages, *passages.examples_by.passages], count)
        self._letters = made("letters", lambda: (letter_ngrams(text) for text in passages.described))
        self._example_letters = made("letters of examples", lambda: (letter_ngrams(text) for text in passages.examples))
        self._names = made("names", lambda: (words(split_identifier(entry.name)) for entry in entries))
        self._negatives = made("words of negatives", lambda: (words(text) for text in passages.negatives))
        self._keywords = _keywords(entries)
        self._all = passages
        self._count = count

    def of(self, clauses: Sequence[str], glosses: Sequence[str]) -> list[tuple[Floats, float]]:
        """For each clause the features LEXICAL (entries × features), the maximum over the clause and its gloss, and the
        lexical similarity to messages that need no tool. One call for all clauses is faster."""
        texts = list(dict.fromkeys((*clauses, *glosses)))
        tokens = [words(text) for text in texts]
        found = dict(zip(texts, self._of(tokens, [letter_ngrams(text) for text in texts]), strict=True))
        negatives = dict(zip(texts, self._negatives.match(tokens).cosine.max(1, initial=0.0).tolist(), strict=True))
        return [
            (np.maximum(found[clause], found[gloss]).T, max(negatives[clause], negatives[gloss]))
            for clause, gloss in zip(clauses, glosses, strict=True)
        ]

    def _of(self, tokens: Sequence[Sequence[str]], letters: Sequence[Sequence[str]]) -> Floats:
        """Shape: texts × features × entries."""
        entry, passage = self._entries.match(tokens), self._passages.match(tokens)
        most = FEW_WORDS if self._all.examples else 0  # short messages are rare in catalogues without examples
        few = np.array([[max(0, most - len(each)) / FEW_WORDS] for each in tokens], np.float32)
        described = self._all.described_by.best(self._letters.match(letters).cosine)
        by_examples = self._all.examples_by.best(self._example_letters.match(letters).cosine)
        columns = (
            *(entry.bm25, entry.coverage, entry.coverage * few),
            self._passages_by.best(passage.cosine),
            np.maximum(described, by_examples),
            np.stack([*map(self._own_keyword, tokens)]),
            self._names.match(tokens).cosine,
        )
        return np.stack(columns, 1)

    def with_keyword(self, clause: str) -> tuple[int, ...]:
        """The entries that have the whole clause as a keyword."""
        return self._keywords.get(tuple(words(clause)), ((), 0.0))[0]

    def _own_keyword(self, tokens: Sequence[str]) -> Floats:
        """For each entry 1 / (groups that share the rarest of its keywords in the text); 0 without one."""
        own = np.zeros(self._count, np.float32)
        for size in range(1, KEYWORD_WORDS + 1):
            for start in range(len(tokens) - size + 1):
                theirs, share = self._keywords.get(tuple(tokens[start : start + size]), ((), 0.0))
                for entry in theirs:
                    own[entry] = max(own[entry], share)
        return own

    def _whole(self, entry: Entry, glossary: Glossary) -> str:
        texts = (*entry.texts, entry.category, *entry.keywords, entry.parameters, *entry.examples)
        glosses = (gloss for text in (*entry.texts, entry.parameters) if (gloss := glossary.gloss(text)) != text)
        return " ".join((*texts, *glosses))


def _keywords(entries: Sequence[Entry]) -> dict[tuple[str, ...], tuple[tuple[int, ...], float]]:
    """The entries of each keyword, and 1 / (number of their groups)."""
    stemmed = {  # the entries of a toolkit have the same keywords
        keywords: dict.fromkeys(tuple(words(each)) for each in keywords)
        for keywords in {entry.keywords for entry in entries}
    }
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, entry in enumerate(entries):
        for keyword in stemmed[entry.keywords]:
            found[keyword].append(at)
    return {
        keyword: (tuple(theirs), 1 / len({entries[at].group for at in theirs}))
        for keyword, theirs in found.items()
        if keyword
    }


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosines of the vectors of texts with those of all passages, a row per text."""

    described: Floats
    examples: Floats
    negatives: Floats


class DenseFeatures:
    """Features from the similarity of vectors. All vectors have length 1."""

    def __init__(self, passages: Passages, vectors: Vectors) -> None:
        self._passages = passages
        parts = (vectors.described, vectors.examples, vectors.negatives)
        self._turned = np.ascontiguousarray(np.concatenate(parts).T)
        self._ends = np.cumsum([len(part) for part in parts])[:-1]

    def similarity(self, vectors: Floats) -> Similarity:
        """For all texts of a message, a row each."""
        count = self._turned.shape[1]
        found = np.empty((len(vectors), count), np.float32)
        block = BLOCK if len(vectors) > 1 else max(1, count)
        for start in range(0, count, block):
            np.matmul(vectors, self._turned[:, start : start + block], out=found[:, start : start + block])
        return Similarity(*np.split(found, self._ends, 1))

    def of(self, similarity: Similarity, rows: Sequence[int]) -> Floats:
        """The features DENSE (entries × features), the maximum over `rows` of `similarity`."""
        described = self._passages.described_by.best(_best(similarity.described, rows))
        examples = _best(similarity.examples, rows)
        by = self._passages.examples_by
        many = np.bincount(by.passages, np.maximum(examples - SIMILAR, 0), by.count).astype(np.float32)
        best = np.maximum(described, by.best(examples))
        columns = described, np.minimum(many, MAX_EXAMPLES), best, np.maximum(best - 0.4, 0)
        return np.array(columns).T


def _best(values: Floats, rows: Sequence[int]) -> Floats:
    best: Floats = values[rows[0]] if len(rows) == 1 else values[rows].max(0)
    return best


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of all passages, a row each."""

    described: Floats
    examples: Floats
    negatives: Floats


def question(
    lexical: Floats,
    dense: Floats | None,
    negatives: tuple[float, float],
    has_examples: bool,
    small_talk: float = 0.0,
) -> Floats:
    """The features QUESTION. `negatives` is the similarity to messages that need no tool, by vectors and by words;
    `small_talk` the log-odds of small talk."""
    similar, shared = negatives
    best = 0.0 if dense is None else float(dense[:, DENSE.index("best")].max(initial=0.0))
    coverage = float(lexical[:, LEXICAL.index("coverage")].max(initial=0.0))
    entries = float(np.log(max(1, len(lexical))))
    likes = (similar, shared, best, coverage, entries)
    return np.array((*likes, float(not has_examples), small_talk, max(small_talk, 0)), np.float32)

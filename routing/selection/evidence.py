"""What speaks for each entry of a catalogue when somebody says something: about twenty numbers an entry, all absolute,
so that they mean the same in every catalogue (row-wise scores and ranks lose whether anything fits at all)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from routing.selection.entries import Entry
from routing.selection.glossary import Glossary
from routing.selection.lexical import Floats, Postings
from routing.selection.passages import Owners, Texts
from routing.selection.words import letter_groups, spaced, words

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
    *("coverage of all", "entries", "no examples"),
)
"""What speaks for no entry at all."""

MOST_HITS, MOST_EXAMPLES, ALIKE = 3.0, 3.0, 0.35
LONGEST_KEYWORD = 3
"""Words."""


class LexicalEvidence:
    """The words and letters that a clause shares with each entry."""

    def __init__(self, entries: Sequence[Entry], texts: Texts, glossary: Glossary) -> None:
        count = len(entries)
        whole = [self._whole(entry, glossary) for entry in entries]
        self._entries = Postings.of([words(text) for text in whole])
        self._passages = Postings.of([words(text) for text in (*texts.described, *texts.examples)])
        self._passages_by = Owners([*texts.described_by.passages, *texts.examples_by.passages], count)
        self._letters = Postings.of([letter_groups(text) for text in texts.described])
        self._example_letters = Postings.of([letter_groups(text) for text in texts.examples])
        self._keyword_letters = Postings.of([letter_groups(" ".join(entry.keywords)) for entry in entries])
        self._names = Postings.of([words(spaced(entry.name)) for entry in entries])
        self._negatives = Postings.of([words(text) for text in texts.negatives])
        self._keywords = _keywords(entries)
        self._texts = texts
        self._count = count

    def of(self, clause: str, gloss: str) -> Floats:
        """One row for each entry, one column for each of LEXICAL; the better of the clause and its gloss."""
        found = self._of(clause)
        return found if gloss == clause else np.maximum(found, self._of(gloss))

    def negatives(self, *clauses: str) -> float:
        """How alike they are in words to what people say when they want nothing done."""
        return max(float(self._negatives.match(words(each)).cosine.max(initial=0.0)) for each in clauses)

    def _of(self, clause: str) -> Floats:
        tokens, letters = words(clause), letter_groups(clause)
        entry, passage = self._entries.match(tokens), self._passages.match(tokens)
        described = self._texts.described_by.best(self._letters.match(letters).cosine)
        said = self._texts.examples_by.best(self._example_letters.match(letters).cosine)
        hits, own = self._hits(tokens)
        columns = (
            *(entry.bm25, entry.coverage),
            *map(self._passages_by.best, (passage.bm25, passage.coverage, passage.cosine)),
            *(described, said, np.maximum(described, said)),
            *(self._keyword_letters.match(letters).cosine, hits, own, self._names.match(tokens).cosine),
        )
        return np.stack(columns, 1)

    def _hits(self, tokens: Sequence[str]) -> tuple[Floats, Floats]:
        """How many keywords of each entry are said, and how few entries share the rarest of them."""
        hits, own = np.zeros(self._count, np.float32), np.zeros(self._count, np.float32)
        for size in range(1, LONGEST_KEYWORD + 1):
            for start in range(len(tokens) - size + 1):
                theirs = self._keywords.get(tuple(tokens[start : start + size]), ())
                for entry in theirs:
                    hits[entry] += 1
                    own[entry] = max(own[entry], 1 / len(theirs))
        return np.minimum(hits, MOST_HITS), own

    def _whole(self, entry: Entry, glossary: Glossary) -> str:
        texts = (*entry.texts, entry.category, *entry.keywords, entry.parameters, *entry.examples)
        glosses = (gloss for text in (*entry.texts, entry.parameters) if (gloss := glossary.gloss(text)) != text)
        return " ".join((*texts, *glosses))


def _keywords(entries: Sequence[Entry]) -> dict[tuple[str, ...], tuple[int, ...]]:
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, entry in enumerate(entries):
        for keyword in dict.fromkeys(tuple(words(each)) for each in entry.keywords):
            found[keyword].append(at)
    return {keyword: tuple(theirs) for keyword, theirs in found.items() if keyword}


@dataclass(frozen=True, slots=True)
class Likeness:
    """The cosines of some texts' vectors with all passages, a column for each text."""

    described: Floats
    examples: Floats
    descriptions: Floats
    negatives: Floats


class DenseEvidence:
    """How alike a text is to what is said of each entry. All vectors have length 1."""

    def __init__(self, texts: Texts, vectors: Vectors) -> None:
        self._texts = texts
        self._vectors = vectors

    def likeness(self, vectors: Floats) -> Likeness:
        """Of all texts of a message at once, a row each: one product of matrices."""
        by, turned = self._vectors, vectors.T
        return Likeness(*(part @ turned for part in (by.described, by.examples, by.descriptions, by.negatives)))

    def of(self, alike: Likeness, texts: Sequence[int], lexical: Floats) -> Floats:
        """One row for each entry, one column for each of DENSE; the best of `texts`, columns of `alike`."""
        described = self._texts.described_by.best(alike.described[:, texts].max(1))
        examples = alike.examples[:, texts].max(1)
        said = self._texts.examples_by.best(examples)
        by = self._texts.examples_by
        many = np.bincount(by.passages, np.maximum(examples - ALIKE, 0), by.count)
        description = alike.descriptions[:, texts].max(1)
        best = np.maximum(np.maximum(described, said), description)
        cosine, coverage = lexical[:, LEXICAL.index("passage cosine")], lexical[:, LEXICAL.index("coverage")]
        passage = lexical[:, LEXICAL.index("passage coverage")]
        columns = (
            *(described, description, said, np.maximum(said - 0.5, 0), np.minimum(many, MOST_EXAMPLES), best),
            *(np.maximum(best - 0.4, 0), np.maximum(best - 0.6, 0), np.maximum(best - 0.8, 0)),
            *(best * cosine, best * coverage, np.sqrt(np.maximum(passage * best, 0))),
        )
        return np.stack(columns, 1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of all passages of a catalogue, a row each."""

    described: Floats
    examples: Floats
    descriptions: Floats
    negatives: Floats


def question(
    clause: str, lexical: Floats, dense: Floats | None, negatives: tuple[float, float], has_examples: bool
) -> Floats:
    """The numbers of QUESTION; `negatives` by vectors and by words."""
    alike, said = negatives
    best = 0.0 if dense is None else float(dense[:, DENSE.index("best")].max(initial=0.0))
    coverage = float(lexical[:, LEXICAL.index("coverage")].max(initial=0.0))
    length = float(np.log1p(len(words(clause))))
    entries = float(np.log(max(1, len(lexical))))
    told = (alike, max(alike - 0.5, 0), said, length, best, best - alike, coverage, entries, float(not has_examples))
    return np.array(told, np.float32)

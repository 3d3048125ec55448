"""Ranks the groups of a catalogue for a message: keywords first, embeddings second."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

import numpy as np

from routing.ports import Encoder
from routing.tools.selection.clauses import clauses
from routing.tools.selection.entries import Entry, PassageOwners, Passages
from routing.tools.selection.features import QUESTION, DenseFeatures, LexicalFeatures, Vectors, question
from routing.tools.selection.fusion import POLICY, Fusion, Policy
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache
from routing.tools.selection.small_talk import SmallTalk
from routing.types.vectors import Floats

Stage = Literal["keyword", "embed"]
MAX_CHARACTERS = 4_000
"""Length to which a message is cut: the request usually comes first."""
SHIPPED = "static"
"""Name of the shipped encoder; the bot adds a colon and a hash."""
SMALL_TALK = QUESTION.index("small talk")
CLAUSE_SHARE = 0.35
"""How many groups a clause may show, relative to the whole message."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A group that is shown: its probability against none, and the stage that found it."""

    name: str
    probability: float
    stage: Stage


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause, its gloss, and the result of the first stage: lexical features (entries × features), similarity to
    messages that need no tool, the log-odds of each entry, and those of small talk, all by words."""

    text: str
    gloss: str
    lexical: Floats
    negatives: float
    odds: Floats
    small_talk: float = 0.0

    def texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.text, self.gloss)))


@dataclass(frozen=True, slots=True)
class Decision:
    """The groups that are shown, best first, and the best log-odds of each entry in the catalogue's order."""

    chosen: tuple[Chosen, ...]
    odds: Floats


class Ranker:
    """Built once for a catalogue; thread-safe. Without vectors it uses words alone."""

    def __init__(
        self,
        entries: Sequence[Entry],
        negatives: Sequence[str],
        glossary: Glossary,
        fusion: Fusion,
        policy: Policy = POLICY,
        small_talk: SmallTalk | None = None,
        cache: IndexCache | None = None,
    ) -> None:
        """`negatives` are messages that need no tool."""
        self.names = tuple(dict.fromkeys(entry.group for entry in entries))
        self.passages = Passages.of(entries, negatives, glossary, cache)
        place = {name: at for at, name in enumerate(self.names)}
        self._groups = PassageOwners([place[entry.group] for entry in entries], len(self.names))
        self._glossary = glossary
        self._fusion = fusion
        self._policy = policy
        self._small_talk = small_talk or SmallTalk.load()
        self._lexical = LexicalFeatures(entries, self.passages, glossary, cache)
        self._dense: DenseFeatures | None = None
        self._is_shipped = False

    def embed(self, encoder: Encoder, cache: IndexCache | None = None) -> Vectors:
        """The vectors of all passages. Blocks."""
        made = (IndexCache() if cache is None else cache).vectors
        parts = {each.name: getattr(self.passages, each.name) for each in fields(Vectors)}
        return Vectors(*(made(f"{encoder.name} {name}", partial(encoder.encode, part)) for name, part in parts.items()))

    def use(self, vectors: Vectors | None, encoder: str = "") -> None:
        """Use these vectors from now on, or words alone. `encoder` is the name of what computed them."""
        self._is_shipped = encoder.partition(":")[0] == SHIPPED
        self._dense = None if vectors is None else DenseFeatures(self.passages, vectors)

    def clauses(self, message: str) -> tuple[Clause, ...]:
        """The first stage: the whole message, then its clauses."""
        readable = message[:MAX_CHARACTERS].encode("utf-8", "replace").decode()
        texts = clauses(readable)
        glosses = [self._glossary.gloss(each) for each in texts]
        return tuple(map(self._clause, texts, glosses, self._lexical.of(texts, glosses)))

    def open(self, parts: Sequence[Clause]) -> tuple[str, ...]:
        """The texts whose vectors `decide` needs: those of clauses that are not certain by words."""
        if self._dense is None:
            return ()
        return tuple(dict.fromkeys(text for part in parts if not self._certain(part) for text in part.texts()))

    def decide(
        self, parts: Sequence[Clause], vectors: Mapping[str, Floats], among: Collection[str] | None = None
    ) -> Decision:
        """The second stage for clauses with vectors; the others keep the result of the first. Only the groups in
        `among` compete and are shown."""
        places = [at for at, name in enumerate(self.names) if among is None or name in among]
        found: dict[int, tuple[float, Stage]] = {}
        full = [*self.features(parts, vectors)]
        odds = [
            part.odds if features is None else self._fusion.full.odds(*features)
            for part, features in zip(parts, full, strict=True)
        ]
        groups = [self.group_odds(each)[places] for each in odds]
        small_talk = [
            part.small_talk if features is None else float(features[1][SMALL_TALK])
            for part, features in zip(parts, full, strict=True)
        ]
        is_open = self._policy.open(groups, small_talk, any(part.text != part.gloss for part in parts[:1]))
        for number in np.flatnonzero(is_open):
            stage: Stage = "keyword" if full[number] is None else "embed"
            shown = [*self._policy.shown(groups[number], CLAUSE_SHARE if number else 1.0)]
            for at, probability in zip(shown, (1 / (1 + np.exp(-groups[number][shown]))).tolist(), strict=True):
                if places[at] not in found or found[places[at]][0] < probability:
                    found[places[at]] = (probability, stage)
        found |= {at: (1.0, "keyword") for at in self._bare_keyword(parts).intersection(places)}
        best = sorted(found, key=lambda at: -found[at][0])
        return Decision(tuple(Chosen(self.names[at], *found[at]) for at in best), np.max(odds, 0))

    def features(
        self, parts: Sequence[Clause], vectors: Mapping[str, Floats]
    ) -> Iterator[tuple[Floats, Floats] | None]:
        """For each clause the features of the entries and of the question, from words and vectors; None for a clause
        without vectors."""
        dense = self._dense
        if dense is None or not vectors:
            yield from (None for _ in parts)
            return
        columns = {text: column for column, text in enumerate(vectors)}
        similarity = dense.similarity(np.stack([*vectors.values()]))
        for part in parts:
            rows = [columns[text] for text in part.texts() if text in columns]
            if not rows:
                yield None
                continue
            found = dense.of(similarity, rows)
            negatives = float(similarity.negatives[rows].max(initial=0.0)), part.negatives
            small_talk = part.small_talk
            if self._is_shipped and part.gloss in vectors:
                small_talk = self._small_talk.odds(part.gloss, vectors[part.gloss])
            asked = question(part.lexical, found, negatives, bool(self.passages.examples), small_talk)
            yield np.concatenate((part.lexical, found), 1), asked

    def group_odds(self, odds: Floats) -> Floats:
        """The log-odds of each group: that any of its entries is meant."""
        return self._groups.any(odds)

    def _bare_keyword(self, parts: Sequence[Clause]) -> set[int]:
        """The groups for which the message is a keyword and nothing else: "Weather?"."""
        return {int(self._groups.passages[at]) for part in parts[:1] for at in self._lexical.with_keyword(part.text)}

    def _clause(self, text: str, gloss: str, found: tuple[Floats, float]) -> Clause:
        lexical, negatives = found
        small_talk = self._small_talk.odds(gloss)
        asked = question(lexical, None, (0.0, negatives), bool(self.passages.examples), small_talk)
        return Clause(text, gloss, lexical, negatives, self._fusion.words.odds(lexical, asked), small_talk)

    def _certain(self, part: Clause) -> bool:
        return float(part.odds.max(initial=-np.inf)) >= self._policy.certain


class EncodingRanker:
    """A ranker with its own encoder, for catalogues outside the bot."""

    def __init__(self, ranker: Ranker, encoder: Encoder, cache: IndexCache | None = None) -> None:
        ranker.use(ranker.embed(encoder, cache), encoder.name)
        self.ranker = ranker
        self._encoder = encoder

    def decide(self, message: str) -> Decision:
        parts = self.ranker.clauses(message)
        return self.ranker.decide(parts, self.vectors(self.ranker.open(parts)))

    def vectors(self, texts: Sequence[str]) -> dict[str, Floats]:
        return dict(zip(texts, self._encoder.encode(texts), strict=True))

    def select(self, query: str) -> list[str]:
        """The names of the groups that are shown, best first."""
        return [each.name for each in self.decide(query).chosen]

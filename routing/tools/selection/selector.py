"""Which tools of a catalogue a message is about: keyword first, embedding second."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

import numpy as np

from routing.ports import Encoder
from routing.tools.selection.clauses import clauses
from routing.tools.selection.cutoff import POLICY, Policy
from routing.tools.selection.entries import Entry
from routing.tools.selection.features import DenseEvidence, LexicalEvidence, Vectors, question
from routing.tools.selection.fusion import Fusion
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index import Index
from routing.tools.selection.passages import Owners, Texts
from routing.tools.selection.small_talk import SmallTalk
from routing.types.vectors import Floats

Stage = Literal["keyword", "embed"]
MOST_CHARACTERS = 4_000
"""Of a message; what is wanted stands before."""
CLAUSE = 0.35
"""Of what may be shown for the message as a whole, for a clause of it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A group that is shown: how probable it is against none, and which stage found it."""

    name: str
    probability: float
    stage: Stage


@dataclass(frozen=True, slots=True)
class Part:
    """A clause, its gloss, and what its words say: the evidence for each entry, the odds of each, and those of small
    talk."""

    clause: str
    gloss: str
    lexical: Floats
    negatives: float
    odds: Floats
    chatter: float = 0.0

    def texts(self) -> tuple[str, ...]:
        """What is to be embedded."""
        return tuple(dict.fromkeys((self.clause, self.gloss)))


@dataclass(frozen=True, slots=True)
class Decision:
    """The groups that are shown, best first, and the best odds of each entry in the catalogue's order."""

    chosen: tuple[Chosen, ...]
    odds: Floats


class Selector:
    """Built once for a catalogue, asked from any thread. Without vectors it decides by words alone."""

    def __init__(
        self,
        entries: Sequence[Entry],
        negatives: Sequence[str],
        glossary: Glossary,
        fusion: Fusion,
        policy: Policy = POLICY,
        chatter: SmallTalk | None = None,
        index: Index | None = None,
    ) -> None:
        """`negatives` are what people say when they want nothing done; `chatter` knows how that sounds in general;
        `index` has what was made of the same before."""
        self.names = tuple(dict.fromkeys(entry.group for entry in entries))
        self.texts = Texts.of(entries, negatives, glossary, index)
        place = {name: at for at, name in enumerate(self.names)}
        self._groups = Owners([place[entry.group] for entry in entries], len(self.names))
        self._glossary = glossary
        self._fusion = fusion
        self._policy = policy
        self._chatter = chatter or SmallTalk.load()
        self._lexical = LexicalEvidence(entries, self.texts, glossary, index)
        self._dense: DenseEvidence | None = None

    def embed(self, encoder: Encoder, index: Index | None = None) -> Vectors:
        """The vectors of all passages; blocks."""
        made = (Index() if index is None else index).vectors
        parts = {each.name: getattr(self.texts, each.name) for each in fields(Vectors)}
        return Vectors(*(made(f"{encoder.name} {name}", partial(encoder.encode, part)) for name, part in parts.items()))

    def use(self, vectors: Vectors | None) -> None:
        """Decide with these from now on, or with words alone."""
        self._dense = None if vectors is None else DenseEvidence(self.texts, vectors)

    def parts(self, message: str) -> tuple[Part, ...]:
        """The first stage: what the words of each clause say."""
        readable = message[:MOST_CHARACTERS].encode("utf-8", "replace").decode()
        texts = clauses(readable)
        glosses = [self._glossary.gloss(each) for each in texts]
        return tuple(map(self._part, texts, glosses, self._lexical.of(texts, glosses)))

    def open(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """What the first stage left open: texts whose vectors `decide` needs."""
        if self._dense is None:
            return ()
        return tuple(dict.fromkeys(text for part in parts if not self._certain(part) for text in part.texts()))

    def decide(
        self, parts: Sequence[Part], vectors: Mapping[str, Floats], among: Collection[str] | None = None
    ) -> Decision:
        """The second stage, for the clauses that have vectors; the others stay as the first left them. Only groups
        `among` these are shown, and weighed against each other."""
        places = [at for at, name in enumerate(self.names) if among is None or name in among]
        found: dict[int, tuple[float, Stage]] = {}
        seen = [*self.evidence(parts, vectors)]
        odds = [
            part.odds if evidence is None else self._fusion.full.odds(*evidence)
            for part, evidence in zip(parts, seen, strict=True)
        ]
        groups = [self.groups(each)[places] for each in odds]
        is_open = self._policy.open(groups, [part.chatter for part in parts])
        for number in np.flatnonzero(is_open):
            stage: Stage = "keyword" if seen[number] is None else "embed"
            shown = [*self._policy.shown(groups[number], CLAUSE if number else 1.0)]
            for at, probability in zip(shown, (1 / (1 + np.exp(-groups[number][shown]))).tolist(), strict=True):
                if places[at] not in found or found[places[at]][0] < probability:
                    found[places[at]] = (probability, stage)
        found |= {at: (1.0, "keyword") for at in self._named(parts).intersection(places)}
        best = sorted(found, key=lambda at: -found[at][0])
        return Decision(tuple(Chosen(self.names[at], *found[at]) for at in best), np.max(odds, 0))

    def _named(self, parts: Sequence[Part]) -> set[int]:
        """The groups of which a message says nothing but a keyword: "Weather?"."""
        return {int(self._groups.passages[at]) for part in parts[:1] for at in self._lexical.named(part.clause)}

    def evidence(self, parts: Sequence[Part], vectors: Mapping[str, Floats]) -> Iterator[tuple[Floats, Floats] | None]:
        """For each part the features of each entry and those of the question, of words and vectors; None for a part
        without vectors."""
        dense = self._dense
        if dense is None or not vectors:
            yield from (None for _ in parts)
            return
        columns = {text: column for column, text in enumerate(vectors)}
        alike = dense.likeness(np.stack([*vectors.values()]))
        for part in parts:
            theirs = [columns[text] for text in part.texts() if text in columns]
            if not theirs:
                yield None
                continue
            found = dense.of(alike, theirs, part.lexical)
            negatives = float(alike.negatives[theirs].max(initial=0.0)), part.negatives
            asked = question(part.gloss, part.lexical, found, negatives, bool(self.texts.examples), part.chatter)
            yield np.concatenate((part.lexical, found), 1), asked

    def groups(self, odds: Floats) -> Floats:
        """The odds of each group: that any of its entries is meant."""
        return self._groups.any(odds)

    def _part(self, clause: str, gloss: str, found: tuple[Floats, float]) -> Part:
        lexical, negatives = found
        chatter = self._chatter.odds(dict.fromkeys((clause, gloss)))
        asked = question(gloss, lexical, None, (0.0, negatives), bool(self.texts.examples), chatter)
        return Part(clause, gloss, lexical, negatives, self._fusion.words.odds(lexical, asked), chatter)

    def _certain(self, part: Part) -> bool:
        return float(part.odds.max(initial=-np.inf)) >= self._policy.certain


class EncodingSelector:
    """A selector with an encoder at hand, for catalogues outside the bot."""

    def __init__(self, selector: Selector, encoder: Encoder, index: Index | None = None) -> None:
        selector.use(selector.embed(encoder, index))
        self.selector = selector
        self._encoder = encoder

    def decide(self, message: str) -> Decision:
        """Both stages."""
        parts = self.selector.parts(message)
        return self.selector.decide(parts, self.vectors(self.selector.open(parts)))

    def vectors(self, texts: Sequence[str]) -> dict[str, Floats]:
        """By text."""
        return dict(zip(texts, self._encoder.encode(texts), strict=True))

    def select(self, query: str) -> list[str]:
        """The names of the groups that are shown, best first."""
        return [each.name for each in self.decide(query).chosen]

"""Finds phrases of a multilingual table in a text, grouped by idea."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self, get_args

from routing.policy.auto.preprocessing import PreparedMessage, fold, is_unspaced, split

TABLE = Path(__file__).with_name("phrases.tsv")
GAP = 3
"""Maximum number of words in place of `…`."""
OFTEN = 4
"""Maximum number of hits per phrase."""

Idea = Literal[
    "intent",
    "think",
    "hard",
    "time",
    "not",
    "brief",
    "prove",
    "show",
    "object",
    "maths",
    "advanced",
    "unsolved",
    "philosophy",
    "compare",
    "design",
    "system",
    "plan",
    "analysis",
    "advice",
    "dispute",
    "politics",
    "why",
    "let",
    "law",
    "medicine",
    "money",
    "puzzle",
    "code",
    "programming_language",
    "code_like",
    "fix",
    "more",
    "and",
    "thanks",
    "meaning",
    "edit",
    "light",
]
IDEAS: tuple[Idea, ...] = get_args(Idea)

_SEMITIC = re.compile(
    "(?:[وف]?(?:ال|بال|كال|فال|لل|[بلك])|[وف])(?=[\u0621-\u064a]{3})|[והבלשמכ]{1,2}(?=[\u05d0-\u05ea]{3})"
)
"""Prefixes that Arabic and Hebrew attach to the next word: and, the, in, for, as, that, from."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase from word `start` to before word `end`; characters instead of words in scripts without spaces."""

    phrase: str
    start: int
    end: int
    unspaced: bool = False


Hits = Mapping[Idea, Sequence[Hit]]


@dataclass(slots=True)
class _Node:
    """A trie node: next whole words, next word beginnings, and a gap of any words."""

    whole: dict[str, _Node] = field(default_factory=dict)
    prefixes: dict[str, _Node] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()
    gap: _Node | None = None
    matches: tuple[tuple[Idea, str], ...] = ()


_NOTHING: dict[str, _Node] = {}
"""Shared by leaf nodes; separate dictionaries would take 2 MB."""


class Phrases:
    """Searches texts for the phrases of the table."""

    def __init__(self, rows: Iterable[tuple[Idea, str]]) -> None:
        """Takes pairs of idea and phrase. `*` stands for any ending, ` … ` for up to three words."""
        self._root = _Node()
        unspaced: defaultdict[str, list[tuple[str, Idea]]] = defaultdict(list)
        for idea, phrase in rows:
            if is_unspaced(phrase):
                folded = fold(phrase)
                unspaced[folded[:2]].append((folded, idea))
            else:
                self._add(idea, phrase)
        self._unspaced = dict(unspaced)
        self._first_characters = (
            re.compile(f"[{re.escape(''.join({folded[0] for folded in unspaced}))}]") if unspaced else None
        )
        _finalize(self._root)

    @classmethod
    def load(cls, table: Path = TABLE) -> Self:
        """Load a file with lines of an idea, a language and phrases separated by ` | `. Raises ValueError for an
        unknown idea."""
        return cls((idea, phrase) for idea, _, phrase in rows(table))

    def find(self, message: PreparedMessage) -> Hits:
        """Find the phrases in the text, by idea, in text order."""
        found: defaultdict[Idea, list[Hit]] = defaultdict(list)
        often: defaultdict[str, int] = defaultdict(int)
        for start in range(len(message.words)):
            for idea, phrase, end in self._find_from(self._root, message.words, start):
                often[phrase] += 1
                if often[phrase] <= OFTEN:
                    found[idea].append(Hit(phrase, start, end))
        if self._first_characters and not message.text.isascii():
            for place in self._first_characters.finditer(message.text):
                start = place.start()
                for said, idea in (*self._unspaced.get(place[0], ()), *self._unspaced_at(message.text, start)):
                    if often[said] < OFTEN and message.text.startswith(said, start):
                        often[said] += 1
                        found[idea].append(Hit(said, start, start + len(said), unspaced=True))
        return found

    def _unspaced_at(self, text: str, start: int) -> Sequence[tuple[str, Idea]]:
        """Phrases that begin with the two characters at `start`."""
        return self._unspaced.get(text[start : start + 2], ()) if start + 1 < len(text) else ()

    def _add(self, idea: Idea, phrase: str) -> None:
        node = self._root
        for part in phrase.split():
            if part == "…":
                node.gap = node.gap or _Node()
                node = node.gap
                continue
            *whole, last = split(fold(part))
            for word in whole:
                node = node.whole.setdefault(word, _Node())
            node = (node.prefixes if part.endswith("*") else node.whole).setdefault(last, _Node())
        node.matches += ((idea, phrase),)

    def _find_from(self, node: _Node, words: Sequence[str], at: int) -> Iterator[tuple[Idea, str, int]]:
        for idea, phrase in node.matches:
            yield idea, phrase, at
        if at >= len(words):
            return
        for form in _forms(words[at]):
            if (after := node.whole.get(form)) is not None:
                yield from self._find_from(after, words, at + 1)
            for length in node.lengths:
                if length > len(form):
                    break
                if (after := node.prefixes.get(form[:length])) is not None:
                    yield from self._find_from(after, words, at + 1)
        if node.gap is not None:
            for skipped in range(GAP + 1):
                yield from self._find_from(node.gap, words, at + skipped)


def rows(table: Path = TABLE) -> Iterator[tuple[Idea, str, str]]:
    """Yield idea, language and phrase. Raises ValueError for a malformed line."""
    for number, line in enumerate(table.read_text("utf-8").splitlines(), 1):
        idea, language, phrases = line.split("\t")
        known = next((each for each in IDEAS if each == idea), None)
        if known is None:
            raise ValueError(f"{table.name}, line {number}: there is no idea {idea!r}")
        for phrase in phrases.split(" | "):
            yield known, language, phrase


def _forms(word: str) -> Iterator[str]:
    yield word
    if word[0] > "\u0590" and (found := _SEMITIC.match(word)):
        yield word[found.end() :]


def _finalize(node: _Node) -> None:
    node.lengths = tuple(sorted({len(prefix) for prefix in node.prefixes}))
    for after in (*node.whole.values(), *node.prefixes.values(), *filter(None, (node.gap,))):
        _finalize(after)
    node.whole, node.prefixes = node.whole or _NOTHING, node.prefixes or _NOTHING

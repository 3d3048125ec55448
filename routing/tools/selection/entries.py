"""Tools as the texts that a message is compared with. The unit of selection is a group: a toolkit, or a single tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from routing.text import split_identifier
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.index_cache import IndexCache
from routing.tools.selection.lexical import Places
from routing.types.vectors import Floats

NO_TOOL = "__none__"
"""Key of the examples that need no tool."""
MAX_TURNS = 4
"""If each entry has 1 to this many passages, `PassageOwners.best` compares all first passages with all second ones and
so on, which takes a fifth of the time of `reduceat`."""
SPARSE = 0.1
"""Share of entries below which a turn is stored as indices."""
_SKIPPED_KEYS = frozenset({"type", "default", "required", "format", "enum_type"})
_STRUCTURE = frozenset({"properties", "items", "anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool of a catalogue. `texts` describe tool and group, one passage each; `parameters` is the text of the
    schema."""

    name: str
    group: str
    texts: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    parameters: str = ""
    category: str = ""
    examples: tuple[str, ...] = ()


def entries(catalog: Sequence[Mapping[str, Any]], examples: Mapping[str, Sequence[str]]) -> tuple[Entry, ...]:
    """Entries of a catalogue of toolkits (`name description keywords category tools`) or tools (`… parameters`).
    `examples` are keyed by name or `toolkit/tool`."""
    return tuple(entry for row in catalog for entry in _entries(row, examples))


def _entries(row: Mapping[str, Any], examples: Mapping[str, Sequence[str]]) -> Iterator[Entry]:
    group = row["name"]
    shared = tuple(map(_valid, examples.get(group, ())))
    keywords = tuple(map(_valid, row.get("keywords") or ()))
    for tool in row.get("tools") or (row,):
        single = tool is row
        own = () if single else examples.get(f"{group}/{tool['name']}", ())
        # The name is a separate passage: it is often enough, and a long description would dilute it.
        texts = (_described(tool), _valid(split_identifier(group)) if single else _described(row))
        yield Entry(
            name=tool["name"],
            group=group,
            texts=tuple(dict.fromkeys(texts)) if single else texts,
            keywords=keywords,
            parameters=_valid(" ".join(_schema_texts(tool.get("parameters", {})))),
            category=_valid(row.get("category") or ""),
            examples=(*shared, *map(_valid, own)),
        )


def _described(row: Mapping[str, Any]) -> str:
    return _valid(f"{split_identifier(row['name'])}. {row.get('description') or ''}".strip())


def _valid(text: str) -> str:
    """Replaces lone surrogates, which JSON can contain and tokenizers reject."""
    return text.encode("utf-8", "replace").decode()


def _schema_texts(schema: Any) -> Iterator[str]:
    """Parameter names, descriptions and enum values of a schema of any form."""
    if isinstance(schema, Mapping):
        for name, value in schema.items():
            if name in _SKIPPED_KEYS:
                continue
            if name == "description" and isinstance(value, str):
                yield value
            elif name == "enum" and isinstance(value, Sequence):
                yield from map(str, value)
            elif isinstance(value, Mapping | list):
                if name not in _STRUCTURE:
                    yield split_identifier(name)
                yield from _schema_texts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _schema_texts(value)


class PassageOwners:
    """Maps passages to their entries. Values of passages have shape (passages,) or (texts, passages)."""

    def __init__(self, owners: Sequence[int], count: int) -> None:
        self.passages = np.asarray(owners, np.int64)
        self.count = count
        order = np.argsort(self.passages, kind="stable")
        ordered = self.passages[order]
        self._starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else order
        self._entries = ordered[self._starts]
        self._order = None if np.array_equal(order, np.arange(len(order))) else order
        self._one_each = np.array_equal(self.passages, np.arange(count))
        self._turns = self._in_turns(order, ordered) if 0 < len(self._entries) == count else []

    def _in_turns(self, order: Places, ordered: Places) -> list[tuple[Places | None, Places]]:
        """(entries, passages) of the first passage of each entry, then of the second where there is one, and so on.
        None stands for all entries. Empty if an entry has more than MAX_TURNS."""
        sizes = np.diff(self._starts, append=len(ordered))
        if sizes.max() > MAX_TURNS:
            return []
        first = order[self._starts]
        turns: list[tuple[Places | None, Places]] = [(None, first)]
        for turn in range(1, int(sizes.max())):
            having = np.flatnonzero(sizes > turn)
            passages = order[self._starts[having] + turn]
            if len(having) > SPARSE * self.count:
                filled = first.copy()
                filled[having] = passages
                turns.append((None, filled))
            else:
                turns.append((having, passages))
        return turns

    def best(self, values: Floats) -> Floats:
        """The highest value of each entry's passages; 0 without passages."""
        if not self._turns:
            return self._highest(values, 0.0)
        (_, first), *more = self._turns
        found: Floats = values.take(first, -1)
        for entries, passages in more:
            if entries is None:
                np.maximum(found, values.take(passages, -1), out=found)
            else:
                found[..., entries] = np.maximum(found[..., entries], values[..., passages])
        return found

    def any(self, logarithms: Floats) -> Floats:
        """The logarithm of the sum of exponentials of each entry's passages."""
        if self._one_each:
            return logarithms.astype(np.float32)
        highest = self._highest(logarithms, -np.inf)
        parts = np.exp(logarithms - highest[self.passages])
        return (highest + np.log(np.bincount(self.passages, parts, self.count))).astype(np.float32)

    def _highest(self, values: Floats, default: float) -> Floats:
        found = np.full((*values.shape[:-1], self.count), default, np.float32)
        if len(self._entries):
            ordered = values if self._order is None else values.take(self._order, -1)
            found[..., self._entries] = np.maximum.reduceat(ordered, self._starts, -1)
        return found


@dataclass(frozen=True, slots=True)
class Passages:
    """All passages of a catalogue, in the original language and glossed in English."""

    described: tuple[str, ...]
    described_by: PassageOwners
    examples: tuple[str, ...]
    examples_by: PassageOwners
    negatives: tuple[str, ...]

    @classmethod
    def of(
        cls, entries: Sequence[Entry], negatives: Sequence[str], glossary: Glossary, cache: IndexCache | None = None
    ) -> Passages:
        """Read the passages of `entries` from `cache` or create them. `negatives` are messages that need no tool."""
        cache = IndexCache() if cache is None else cache

        def both(texts: Iterable[str], at: int = 0) -> Iterator[tuple[str, int]]:
            return ((each, at) for text in texts for each in dict.fromkeys((text, glossary.gloss(text))))

        def all_of(texts: Callable[[Entry], Iterable[str]]) -> Iterator[tuple[str, int]]:
            return (passage for at, entry in enumerate(entries) for passage in both(texts(entry), at))

        described, described_by = cache.passages("described", lambda: all_of(lambda entry: entry.texts))
        examples, examples_by = cache.passages("examples", lambda: all_of(lambda entry: entry.examples))
        return cls(
            described=described,
            described_by=PassageOwners(described_by, len(entries)),
            examples=examples,
            examples_by=PassageOwners(examples_by, len(entries)),
            negatives=cache.passages("negatives", lambda: both(negatives))[0],
        )

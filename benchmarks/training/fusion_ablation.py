"""What each part of the choice of tools is worth: `python -m benchmarks.training.fusion_ablation`.

Trains the fusion again without one feature, on the even rows, and measures the odd ones, and the other way round; and
measures it without one part of the policy (about an hour). `--without A B` leaves out these together, and nothing else.
The weights of words alone stay.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reporting.section import print_progress
from benchmarks.selectors.__main__ import DATA
from benchmarks.training.choice_model import Choice
from benchmarks.training.fusion import SETS, TOOLKITS, WITH_EXAMPLES, choices, entries_and_queries, fused
from routing.tools.selection.encoder import StaticEncoder
from routing.tools.selection.features import DENSE, LEXICAL, QUESTION
from routing.tools.selection.fusion import POLICY, Fusion, Policy
from routing.tools.selection.glossary import Glossary
from routing.tools.selection.ranker import Clause, EncodingRanker, Ranker
from routing.types.vectors import Floats

HALVES = ("even", "odd")
ENTRY = (*LEXICAL, *DENSE)
NEUTRAL: Mapping[str, Any] = {
    "talk": 0.0, "glossed": 0.0, "alone": np.inf, "wide": 0.0, "lowest": -np.inf, "sure": np.inf,
}  # fmt: skip
"""The value with which a part of the policy does nothing."""
CLAUSES = "clauses"
PARTS = (
    *ENTRY,
    *(name for name in QUESTION if name != "no examples"),
    WITH_EXAMPLES,
    *NEUTRAL,
    CLAUSES,
)
"""What can be left out. The feature that is not here decides how the others count."""
MOST_ROWS = {"sealtools": 400}
"""Rows of a set with thousands of tools, whose features take a megabyte each."""
PROCESSES = 2

Features = tuple[Floats, Floats] | None
Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """A query with its features. `kind` is the row of the table that it counts for."""

    clauses: tuple[Clause, ...]
    features: tuple[Features, ...]
    right: frozenset[str]
    kind: str


class RememberingRanker(Ranker):
    """Ranks queries whose features are known already, with other weights each time."""

    def shown(self, query: Measured, fusion: Fusion, policy: Policy, clauses: int | None) -> frozenset[str]:
        """The names that are shown; `clauses` limits how many clauses count."""
        self._fusion, self._policy, self._known = fusion, policy, query.features[:clauses]
        return frozenset(each.name for each in self.decide(query.clauses[:clauses], {}).chosen)

    def features(self, parts: Sequence[Clause], vectors: Mapping[str, Floats]) -> Iterator[Features]:
        yield from self._known


@dataclass(frozen=True, slots=True)
class Set:
    """One catalogue with the queries of each half, for training and for measuring."""

    ranker: RememberingRanker
    taught: Mapping[str, Sequence[Choice]]
    measured: Mapping[str, Sequence[Measured]]

    @classmethod
    def read(cls, data: Path, name: str) -> Set:
        known, negatives, queries = entries_and_queries(data, name)
        plain = EncodingRanker(Ranker(known, negatives, Glossary.load(), Fusion.load()), StaticEncoder.load())
        measured: defaultdict[str, list[Measured]] = defaultdict(list)
        for number, row in enumerate(queries[: MOST_ROWS.get(name)]):
            parts = plain.ranker.clauses(str(row["query"]))
            found = tuple(plain.ranker.features(parts, plain.vectors(plain.ranker.open(parts))))
            if kind := _kind(name, row):
                half = HALVES[number % 2]
                measured[half].append(Measured(parts, found, frozenset(row["gold"]), kind))
        taught = {half: [*choices(data, name, keep=half)] for half in HALVES}
        ranker = RememberingRanker(known, negatives, Glossary.load(), Fusion.load())
        return cls(ranker, taught, measured)


def _kind(name: str, row: Mapping[str, Any]) -> str:
    """The column of a query; empty if it is not measured."""
    language = "English" if row.get("lang", "en") == "en" else "others"
    if name == TOOLKITS:
        return name if row["gold"] else f"false: {name}"
    if not row["gold"]:
        return f"false: {language}" if name == "assistant" and row["kind"] == "none" else ""
    if name == "metatool" and len(row["gold"]) > 1:
        return "metatool: two tools"
    return language if name == "assistant" else name


def crossvalidated(left_out: frozenset[str]) -> Figures:
    """Shares by column: of the queries all of whose tools are shown, and of the messages without a tool for which
    something is shown; and how much of the catalogue is shown."""
    policy = replace(POLICY, **{name: NEUTRAL[name] for name in left_out.intersection(NEUTRAL)})
    clauses = 1 if CLAUSES in left_out else None
    hits: defaultdict[str, list[float]] = defaultdict(list)
    for half, other in (HALVES, HALVES[::-1]):
        taught = [_masked(choice, left_out) for each in _SETS for choice in each.taught[half]]
        fusion = replace(Fusion.load(), full=fused(taught, left_out))
        for each in _SETS:
            for query in each.measured[other]:
                shown = each.ranker.shown(query, fusion, policy, clauses)
                hits[query.kind].append(query.right <= shown if query.right else bool(shown))
                if query.right:
                    hits["shown"].append(len(shown) / len(each.ranker.names))
    return {kind: sum(each) / len(each) for kind, each in sorted(hits.items())}


def _masked(choice: Choice, left_out: frozenset[str]) -> Choice:
    """The choice with the left out features at zero, which gets them no weight."""
    entry, asked = choice.entry.copy(), choice.asked.copy()
    entry[:, [at for at, name in enumerate(ENTRY) if name in left_out]] = 0
    asked[[at for at, name in enumerate(QUESTION) if name in left_out]] = 0
    return replace(choice, entry=entry, asked=asked)


_SETS: list[Set] = []
"""Shared with the worker processes, which are forked."""


def main() -> None:
    """Print the figures with everything, and the change without each part."""
    parser = argparse.ArgumentParser("benchmarks.training.fusion_ablation", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--without", nargs="+", action="append", choices=PARTS, metavar="PART", help="together")
    given = parser.parse_args()
    for name in SETS:
        print_progress(f"reading {name}")
        _SETS.append(Set.read(given.data, name))
    variants = [frozenset[str](), *map(frozenset, given.without or ([name] for name in PARTS))]
    with get_context("fork").Pool(PROCESSES) as pool:
        before: Figures = {}
        for left_out, found in zip(variants, pool.imap(crossvalidated, variants), strict=True):
            before = before or found
            changes = {kind: found[kind] - before[kind] for kind in before} if left_out else found
            print(
                ", ".join(sorted(left_out)) or "everything",
                *(f"{kind} {each:+.4f}" for kind, each in changes.items()),
                sep=" | ",
                flush=True,
            )


if __name__ == "__main__":
    main()

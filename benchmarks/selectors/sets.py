"""The measured sets: a catalogue, examples, and queries, divided into slices with separate figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tool_routing import Query, read_catalogue, read_examples, read_queries

SETS = ("assistant", "metatool", "bfcl_live", "functionchat_ko", "sealtools")
ENGLISH = "en"
SEVEN = ("de", "es", "fr", "it", "ja", "ko", "zh")
"""The languages other than English in which the assistant's catalogue has keywords."""
ALL, SEVEN_OTHERS, ALL_OTHERS = "all", "seven others", "all others"
MIN_QUERIES = 20
"""Minimum number of queries for a slice by language, or of several tools."""


@dataclass(frozen=True, slots=True)
class Set:
    """`slices` are indices of `queries`, by name; a query may be in several."""

    catalogue: Sequence[Mapping[str, Any]]
    examples: Mapping[str, Sequence[str]]
    queries: Sequence[Query]
    slices: Mapping[str, Sequence[int]]


def read(data: Path, name: str) -> Set:
    """Read `NAME.catalog.json`, `NAME.examples.json` (optional) and `dev/NAME.jsonl`. Raises OSError and ValueError."""
    path = data / f"{name}.examples.json"
    queries = read_queries(data / "dev" / f"{name}.jsonl")
    return Set(
        catalogue=read_catalogue(data / f"{name}.catalog.json"),
        examples=read_examples(path if path.exists() else None),
        queries=queries,
        slices=slices(queries),
    )


def slices(queries: Sequence[Query]) -> dict[str, list[int]]:
    """All queries, or with several languages: each language, all but English together, and the queries for several
    tools in the most frequent language."""
    counts = Counter(query.language for query in queries)
    several = [language for language, count in counts.most_common() if count >= MIN_QUERIES]
    languages = sorted(several, key=lambda language: language != ENGLISH) if len(several) > 1 else []
    main = next(iter(several), None)
    wanted = {
        **({ALL: set(counts)} if not languages else {language: {language} for language in languages}),
        **({SEVEN_OTHERS: set(SEVEN), ALL_OTHERS: {*counts} - {ENGLISH}} if languages else {}),
    }
    found = {
        name: [place for place, query in enumerate(queries) if query.language in spoken]
        for name, spoken in wanted.items()
    }
    multi = [place for place, query in enumerate(queries) if query.kind == "multi" and query.language == main]
    if len(multi) >= MIN_QUERIES:
        found[f"{main} multi"] = multi
    return {name: places for name, places in found.items() if places}

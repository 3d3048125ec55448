"""Measures how well the built-in toolkits are chosen: `python -m benchmarks.toolkits [--development] [--misses]`.

The queries in `benchmarks/data/tool_queries.tsv` were written before the texts of the tools were tuned, and are used
for nothing else. Those in `tool_queries_development.tsv` are for tuning: look at misses among them only. Base toolkits
are always shown, so they count neither as found nor as shown.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reporting.section import VERDICTS, Section, answered, parser
from handlers.tools.authoring.manifests import FOLDER, our_toolkit
from handlers.tools.tool_router import ToolRouter
from routing.types.toolkits import Toolkit

QUERIES = Path(__file__).parent / "data" / "tool_queries.tsv"
DEVELOPMENT = QUERIES.with_name("tool_queries_development.tsv")
NO_TOOL = "-"
SMALL_MODEL, LARGE_MODEL = "ollama/qwen3:1.7b", "openai/gpt-5.2"
MIN_RECALL, MAX_SHOWN, MAX_SMALL_TOKENS = 0.97, 0.15, 800
HEADINGS = ("language", "queries", "recall", "shown", "without a tool", "false activation")


@dataclass(frozen=True, slots=True)
class Query:
    """A message and the tools that it needs; none for small talk."""

    language: str
    text: str
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`missing` are the needed tools that were not shown; `shown` is the share of the tools outside the base, `needed`
    the share that their toolkits alone would be; `small_tokens` the size of the definitions and names for a small
    model."""

    query: Query
    missing: frozenset[str]
    shown: float
    needed: float
    small_tokens: int


def queries(path: Path = QUERIES) -> list[Query]:
    """The lines of a file: language, tools or "-", text, separated by tabs."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [Query(lang, text, frozenset(() if tools == NO_TOOL else tools.split())) for lang, tools, text in rows]


def outcomes(asked: Sequence[Query], toolkits: Sequence[Toolkit]) -> list[Outcome]:
    """Chooses for every query. Raises KeyError for a needed tool that does not exist."""
    large, small = (ToolRouter(model, toolkits=toolkits) for model in (LARGE_MODEL, SMALL_MODEL))
    home = {card.name: each.name for each in toolkits for card in each.tools}
    base = {card.name for each in toolkits if each.base for card in each.tools}
    beyond = len(home) - len(base)
    found = []
    for query in asked:
        names = {spec.name for spec in large.shown(query.text).specs}
        homes = {home[name] for name in query.tools}
        needed = sum(each in homes and name not in base for name, each in home.items()) / beyond
        shown = len(names - base) / beyond
        found.append(Outcome(query, query.tools - names, shown, needed, small.shown(query.text).tokens))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the limits are kept; 1: one is not."""
    options = parser("benchmarks.toolkits", __doc__)
    options.add_argument("--development", action="store_true", help="the queries for tuning instead")
    options.add_argument("--misses", action="store_true", help="print the queries whose tools were not shown")
    return answered(options, arguments, lambda given: run(given.misses, DEVELOPMENT if given.development else QUERIES))


def run(misses: bool, path: Path = QUERIES) -> Section:
    """Chooses for all queries among all built-in toolkits."""
    toolkits = [our_toolkit(path.stem) for path in sorted(FOLDER.glob("*.json"))]
    found = outcomes(queries(path), toolkits)
    if misses:
        for each in found:
            if each.missing:
                print(each.query.language, ", ".join(sorted(each.missing)), each.query.text, sep="\t", file=sys.stderr)
    return report(found, toolkits)


def report(found: Sequence[Outcome], toolkits: Sequence[Toolkit]) -> Section:
    """The table by language; the limits are for all of them."""
    languages = sorted({each.query.language for each in found})
    lines = [HEADINGS, *(_line(name, [each for each in found if each.query.language == name]) for name in languages)]
    lines.append(_line("all", found))
    recall, shown = _recall(found), _shown(found)
    needed = sum(each.needed for each in found) / len(found)
    tokens = max(each.small_tokens for each in found)
    kept = recall >= MIN_RECALL and shown <= MAX_SHOWN and tokens <= MAX_SMALL_TOKENS
    tools = [len(each.tools) for each in toolkits]
    base = sum(len(each.tools) for each in toolkits if each.base)
    notes = (
        f"{sum(tools)} tools in {len(toolkits)} toolkits, {base} of them in base toolkits, which are always shown and "
        f"not counted. The needed toolkits alone would be {needed:.1%}. Limits: recall ≥ {MIN_RECALL:g}, shown ≤ "
        f"{MAX_SHOWN:.0%}, at most {MAX_SMALL_TOKENS} tokens of definitions and names for a model of class S (here at "
        f"most {tokens}): {VERDICTS[kept]}",
    )
    figures = {"recall": recall, "shown": shown, "needed": needed, "small_tokens": tokens, "tools": sum(tools)}
    return Section("toolkits", tuple(lines), notes, kept, figures)


def _recall(found: Sequence[Outcome]) -> float:
    needing = [each for each in found if each.query.tools]
    return sum(not each.missing for each in needing) / len(needing)


def _shown(found: Sequence[Outcome]) -> float:
    return sum(each.shown for each in found) / len(found)


def _line(name: str, found: Sequence[Outcome]) -> tuple[str, ...]:
    quiet = [each for each in found if not each.query.tools]
    false = sum(each.shown > 0 for each in quiet) / len(quiet)
    counts = (str(len(found) - len(quiet)), f"{_recall(found):.3f}", f"{_shown(found):.1%}", str(len(quiet)))
    return (name, *counts, f"{false:.2f}")


if __name__ == "__main__":
    sys.exit(main())

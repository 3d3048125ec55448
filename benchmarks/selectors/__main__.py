"""Our tool selector compared with simpler ones, for every set and language: `python -m benchmarks.selectors`.

The others: the simple algorithm (a keyword anywhere in the message, or else a cosine of 0.40 with one description),
BM25 alone, and all-MiniLM-L6-v2 alone (best cosine with descriptions and examples). In each row, the last two show the
same share of the catalogue as ours. The rules are those of `benchmarks.tool_routing`; each contestant runs in a
separate process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.reporting.section import load, print_progress
from benchmarks.selectors.contestants import CONTESTANTS, OURS, Contestant
from benchmarks.selectors.sets import SETS
from benchmarks.selectors.simple import MIN_COSINE, encoder_name
from benchmarks.selectors.table import tables, worse

DATA = Path(__file__).resolve().parents[1] / "data" / "tool-routing"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 whatever the figures are, 2 if they can't be measured."""
    given = _parser().parse_args(arguments)
    missing = {each.name: packages for each in CONTESTANTS if (packages := each.missing())}
    try:
        results = {name: compare(given.data, name, list(missing)) for name in given.sets}
    except child.Failed as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps({"sets": results, "missing": missing, "simple": encoder_name()}, ensure_ascii=False))
        return 0
    print(tables(results, missing))
    print(f"\nThe simple algorithm uses the vectors of {encoder_name()}, ≥ {MIN_COSINE:.2f}. {load().capitalize()}.")
    if below := worse(results):
        print(f"Ours finds less than the simple algorithm in: {', '.join(below)}.")
    return 0


def compare(data: Path, name: str, left_out: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The figures of one set, by contestant. Raises child.Failed."""
    results: dict[str, dict[str, Any]] = {}
    shares: dict[str, float] = {}
    for each in CONTESTANTS:
        if each.name in left_out:
            continue
        print_progress(f"{name}: {each.name}")
        results[each.name] = _measured(each, data, name, shares)
        if each is OURS:
            slices = results[each.name]["slices"]
            shares = {part: figures["shown"] for part, figures in slices.items() if "shown" in figures}
    return results


def _measured(contestant: Contestant, data: Path, name: str, shares: Mapping[str, float]) -> dict[str, Any]:
    arguments = [contestant.name, name, "--data", str(data)]
    return child.figures("benchmarks.selectors.trial", arguments, json.dumps(shares))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selectors", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="(%(default)s)")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="SET", help=" ".join(SETS))
    parser.add_argument("--json", action="store_true", help="one object instead of the tables")
    return parser


if __name__ == "__main__":
    sys.exit(main())

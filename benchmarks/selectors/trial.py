"""Measures one contestant on one set, in a separate process: `python -m benchmarks.selectors.trial NAME SET --data
DIR`.

Standard input is the share that ours shows in each slice, `{"en": 0.04}`; standard output is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.selectors.contestants import CONTESTANTS, Contestant
from benchmarks.selectors.scorers import Scorer, shown
from benchmarks.selectors.sets import Set, read
from benchmarks.selectors.threshold import threshold
from benchmarks.tool_routing import WARM_UP, Selects, measure, resident_megabytes

SETTLED = 50
"""Number of queries before memory is read: everything is loaded by then, and no answers are stored yet."""
QUANTILES = (50, 95, 99)


class FixedAnswers:
    """Repeats the answers of a selector, to count them in every slice."""

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = answers

    def select(self, query: str) -> Sequence[str]:
        return self._answers[query]


def trial(contestant: Contestant, measured: Set, shares: Mapping[str, float]) -> dict[str, Any]:
    """The figures for each slice. A scorer shows at most the share in `shares`; slices without a share are left out."""
    began = time.perf_counter()
    built = contestant.build(measured.catalogue, measured.examples)
    load = time.perf_counter() - began
    for query in measured.queries[:SETTLED]:
        _ask(built, query.text)
    megabytes = resident_megabytes()
    answers, milliseconds, cpu = _answers(built, measured)
    found = {}
    for name, places in measured.slices.items():
        fixed = _fixed_answers(built, answers, measured, places, shares.get(name))
        if fixed is not None:
            queries = [measured.queries[place] for place in places]
            counts = {
                "wanted": sum(bool(query.gold) for query in queries),
                "none": sum(query.kind == "none" and not query.gold for query in queries),
            }
            times = _quantiles([milliseconds[place] for place in places])
            found[name] = {**measure(fixed, measured.catalogue, queries), **times, **counts}
    whole = {
        **{"load_s": round(load, 2), "megabytes": megabytes},
        **_quantiles(milliseconds),
        **{name.replace("_ms", "_cpu_ms"): value for name, value in _quantiles(cpu).items()},
    }
    return {"whole": whole, "slices": found}


def _ask(built: Selects | Scorer, query: str) -> Any:
    return built.scores(query) if isinstance(built, Scorer) else built.select(query)


def _answers(built: Selects | Scorer, measured: Set) -> tuple[list[Any], list[float], list[float]]:
    """Names or scores for each query, and the wall-clock and CPU milliseconds of each."""
    for query in measured.queries[:WARM_UP]:
        _ask(built, query.text)
    answers, wall, cpu = [], [], []
    for query in measured.queries:
        began, worked = time.perf_counter(), time.process_time()
        answers.append(_ask(built, query.text))
        wall.append((time.perf_counter() - began) * 1e3)
        cpu.append((time.process_time() - worked) * 1e3)
    return answers, wall, cpu


def _fixed_answers(
    built: Selects | Scorer, answers: Sequence[Any], measured: Set, places: Sequence[int], share: float | None
) -> FixedAnswers | None:
    if not isinstance(built, Scorer):
        return FixedAnswers({measured.queries[place].text: answers[place] for place in places})
    if share is None:
        return None
    least = threshold(np.stack([answers[place] for place in places if measured.queries[place].gold]), share)
    return FixedAnswers({measured.queries[place].text: shown(built.names, answers[place], least) for place in places})


def _quantiles(milliseconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {f"p{share}_ms": round(ordered[int(len(ordered) * share / 100)], 3) for share in QUANTILES}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selectors.trial", description=__doc__)
    parser.add_argument("contestant", choices=[each.name for each in CONTESTANTS])
    parser.add_argument("set")
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args(arguments)
    contestant = next(each for each in CONTESTANTS if each.name == given.contestant)
    print(json.dumps(trial(contestant, read(given.data, given.set), json.load(sys.stdin))))


if __name__ == "__main__":
    main()

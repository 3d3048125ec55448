"""The limits that selection keeps on a small catalogue and on one of 4,076 entries."""

from __future__ import annotations

import inspect
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import child
from benchmarks.reporting.section import VERDICTS, Section, load, print_progress
from routing.tools.selection import build_selector

SMALL, LARGE = "assistant", "sealtools"
"""43 toolkits of 108 tools; 4,076 tools."""
ROUNDS = 3

Probes = Mapping[str, Sequence[Mapping[str, Any]]]
"""The figures of every round, by what was probed."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure of a probe and its maximum; the median over the rounds counts."""

    name: str
    probe: str
    figure: str
    most: float | None
    unit: str
    digits: int = 1

    def value(self, probes: Probes) -> float | None:
        """None if it was not measured."""
        values = [each[self.figure] for each in probes.get(self.probe, ()) if each[self.figure] is not None]
        return statistics.median(values) if values else None

    def kept(self, probes: Probes) -> bool | None:
        """None without a limit or a figure."""
        value = self.value(probes)
        return None if value is None or self.most is None else value <= self.most


CACHED = "cached"
LIMITS = (
    Limit("index of 4,076 entries, cold", LARGE, "build_s", 2.0, "s", 2),
    Limit("the same, CPU", LARGE, "build_cpu_s", None, "s", 2),
    Limit("index of 4,076 entries, from the cache", CACHED, "build_s", 0.2, "s", 2),
    Limit("the same, CPU", CACHED, "build_cpu_s", None, "s", 2),
    Limit("index of 43 toolkits, cold", SMALL, "build_s", None, "s", 2),
    *(
        limit
        for probe, catalogue in ((SMALL, "43 toolkits"), (LARGE, "4,076 entries"))
        for limit in (
            Limit(f"a query among {catalogue}, p50", probe, "p50_ms", None, "ms"),
            Limit(f"a query among {catalogue}, p95", probe, "p95_ms", 5.0, "ms"),
            Limit("the same, CPU", probe, "p95_cpu_ms", None, "ms"),
            Limit(f"longest block of the event loop, {catalogue}", probe, "block_ms", None, "ms"),
            Limit("the same, CPU of the loop alone", probe, "block_cpu_ms", 5.0, "ms"),
            Limit(f"showing a turn's tools of {catalogue}, CPU of the loop", probe, "shown_ms", 5.0, "ms"),
            Limit(f"memory added, {catalogue}", probe, "added_mb", 50.0, "MB", 0),
        )
    ),
)
"""Memory beyond numpy and tokenizers."""


Measure = Callable[[Path, str, Path | None], Mapping[str, Any]]
"""Takes the data folder, the name of a set, and its cache file."""


def probes(data: Path, cache: Path | None, rounds: int, measured: Measure | None = None) -> Probes:
    """Fresh processes, one after the other. `cache` is a file that does not exist yet: it is filled before its own
    rounds begin. Raises child.Failed."""
    run = measured or probed
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name, catalogue, kept in ((SMALL, SMALL, None), (LARGE, LARGE, None), (CACHED, LARGE, cache)):
        if name == CACHED:
            if cache is None:
                continue
            run(data, catalogue, cache)
        for number in range(rounds):
            print_progress(f"limits: {name}, {number + 1} of {rounds}")
            found.setdefault(name, []).append(run(data, catalogue, kept))
    return found


def probed(data: Path, catalogue: str, cache: Path | None) -> Mapping[str, Any]:
    """One process. Raises child.Failed."""
    kept = [] if cache is None else ["--cache", str(cache)]
    return child.figures("benchmarks.bench_tools.probe", [str(data), catalogue, *kept])


def takes_a_cache() -> bool:
    """Whether a selector can be built from a file."""
    return "cache" in inspect.signature(build_selector).parameters


def report(found: Probes) -> Section:
    """The table and its verdict; a limit without a figure is not broken."""
    lines = [("limit", "figure", "at most", "")]
    for limit in LIMITS:
        value = limit.value(found)
        figure = "not measured" if value is None else f"{value:.{limit.digits}f} {limit.unit}"
        most = "" if limit.most is None else f"{limit.most:g} {limit.unit}"
        lines.append((limit.name, figure, most, VERDICTS[limit.kept(found)]))
    rounds = max(map(len, found.values()), default=0)
    notes = (
        f"Medians of {rounds} fresh processes; {load()}. Memory is beyond an interpreter with numpy, tokenizers and "
        "safetensors. The event loop goes on beside a selection in a thread, as in the bot; it shows the tools itself: "
        "the class that takes longest counts, with the median of its messages.",
        "Where other programs want the processors, too, times by the clock are theirs as well: compare with the CPU's.",
    )
    kept = all(limit.kept(found) is not False for limit in LIMITS)
    return Section("limits", tuple(lines), notes, kept, {"probes": found})

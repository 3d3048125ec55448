"""Formats the figures as three Markdown tables: recall, false activation, and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.reporting.section import grid
from benchmarks.selectors.contestants import CONTESTANTS, OURS, SIMPLE

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Results of `benchmarks.selectors.trial`, by set and contestant; empty for a contestant that is not installed."""

NONE = "–"
NOT_INSTALLED = "not installed"
RECALL = "recall"
FALSE = "false_activation"


def tables(results: Results, missing: Mapping[str, str]) -> str:
    """All tables. `missing` holds what is not installed, by contestant."""
    parts = [grid(found(results)), grid(false_activations(results)), grid(costs(results))]
    notes = [f"{name}: {NOT_INSTALLED} ({packages})." for name, packages in missing.items()]
    return "\n\n".join([*parts, *notes])


def found(results: Results) -> list[tuple[str, ...]]:
    """Recall of each slice (all the right entries are shown), and the share that ours and the simple algorithm show."""
    columns: list[str] = []
    for each in CONTESTANTS:
        columns += [each.name, f"{each.name} shows"] if each in (OURS, SIMPLE) else [each.name]
    lines: list[tuple[str, ...]] = [("recall", "queries", "number", *columns)]
    for name, part, counted in _slices(results, RECALL, "wanted"):
        cells: list[str] = []
        for each in CONTESTANTS:
            figures = _figures(results, name, each.name, part)
            cells.append(_cell(figures, RECALL))
            if each in (OURS, SIMPLE):
                cells.append(_share(figures))
        lines.append((name, part, str(counted), *cells))
    return lines


def false_activations(results: Results) -> list[tuple[str, ...]]:
    """Share of the queries without a tool for which something is shown."""
    headings = ("false activation", "queries", "number", *(each.name for each in CONTESTANTS))
    lines: list[tuple[str, ...]] = [headings]
    for name, part, counted in _slices(results, FALSE, "none"):
        figures = (_figures(results, name, each.name, part) for each in CONTESTANTS)
        lines.append((name, part, str(counted), *(_cell(each, FALSE) for each in figures)))
    return lines


def costs(results: Results) -> list[tuple[str, ...]]:
    """95th percentile of wall-clock and CPU milliseconds, seconds to build, and memory of the process."""
    lines: list[tuple[str, ...]] = [("cost", "", "p95 ms", "p95 CPU ms", "build s", "MB")]
    for name, by in results.items():
        for each in CONTESTANTS:
            if whole := by.get(each.name, {}).get("whole"):
                times = f"{whole['p95_ms']:.2f}", f"{whole['p95_cpu_ms']:.2f}", f"{whole['load_s']:.2f}"
                lines.append((name, each.name, *times, str(whole["megabytes"] or NONE)))
    return lines


def _slices(results: Results, figure: str, number: str) -> Iterator[tuple[str, str, int]]:
    """The slices that have this figure for ours: set, slice, and number of queries."""
    for name, by in results.items():
        for part, figures in by[OURS.name]["slices"].items():
            if figure in figures:
                yield name, part, figures[number]


def _figures(results: Results, name: str, contestant: str, part: str) -> Mapping[str, Any]:
    slices = results[name].get(contestant, {}).get("slices", {})
    figures: Mapping[str, Any] = slices.get(part, {})
    return figures


def _cell(figures: Mapping[str, Any], figure: str) -> str:
    return f"{figures[figure]:.3f}" if figure in figures else NONE


def _share(figures: Mapping[str, Any]) -> str:
    return f"{figures['shown']:.1%}" if "shown" in figures else NONE


def worse(results: Results) -> Sequence[str]:
    """The slices in which our recall is below that of the simple algorithm."""
    return [
        f"{name} {part}"
        for name, part, _ in _slices(results, RECALL, "wanted")
        if (simple := _figures(results, name, SIMPLE.name, part))
        and _figures(results, name, OURS.name, part)[RECALL] < simple[RECALL]
    ]

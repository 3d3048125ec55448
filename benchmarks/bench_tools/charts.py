"""Draws the charts: tokens per strategy, how often the right tool is shown, and its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench_tools.calls import Score
from benchmarks.bench_tools.ranking import Ranking
from benchmarks.bench_tools.recall import KS, Row, recall_at
from benchmarks.reporting.intervals import Interval
from routing.types.decisions import SIZES

COLOURS = {"S": "#2f6fde", "M": "#6fa0ef", "L": "#9aa5b1", "XL": "#c3cad2"}
MAX_RANK = KS[-1]


def plot(
    path: Path, rows: Sequence[Row], by_form: Mapping[str, Sequence[Ranking]], scores: Sequence[Score] = ()
) -> None:
    """Error bars are 95 % confidence; the format follows the file's extension."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    count = 4 if scores else 3
    figure, grid = pyplot.subplots(1, count, figsize=(5 * count, 5), layout="constrained")
    _bars(grid[0], rows, "tokens for the tools, a request", lambda row: row.tokens or row.estimate)
    _bars(grid[1], rows, "right tool shown", lambda row: row.parts.tool)
    _curves(grid[2], by_form)
    if scores:
        _called(grid[3], scores)
    for axes in grid:
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _bars(axes: Any, rows: Sequence[Row], title: str, figure: Any) -> None:
    """A group per strategy, a bar per size class."""
    ways = list(dict.fromkeys(row.way for row in rows))
    sizes = [size for size in SIZES if any(row.size == size for row in rows)]
    for number, size in enumerate(sizes):
        theirs = [row for row in rows if row.size == size]
        places = [ways.index(row.way) + (number - (len(sizes) - 1) / 2) * 0.8 / len(sizes) for row in theirs]
        found = [figure(row) for row in theirs]
        axes.barh(
            places,
            [each.value for each in found],
            0.8 / len(sizes),
            xerr=whiskers(found),
            color=COLOURS[size],
            label=size,
        )
    axes.set_yticks(range(len(ways)), ways)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, -0.13), ncols=len(sizes), frameon=False)


def _curves(axes: Any, by_form: Mapping[str, Sequence[Ranking]]) -> None:
    """Recall by the number of tools."""
    most = range(1, MAX_RANK + 1)
    for form, found in by_form.items():
        recalls = [each for k in most if (each := recall_at(found, k)) is not None]
        axes.plot(most, [each.value for each in recalls], label=form)
        axes.fill_between(most, [each.low for each in recalls], [each.high for each in recalls], alpha=0.15)
    axes.set_xticks(KS)
    axes.set_ylim(0, 1.02)
    axes.set_title("right tool among the first k", fontsize=10)
    axes.legend(fontsize=8)


def _called(axes: Any, scores: Sequence[Score]) -> None:
    """Accuracy of a model."""
    found = [each.parts.tool for each in scores if each.parts.tool is not None]
    axes.barh([each.way for each in scores], [each.value for each in found], xerr=whiskers(found), color=COLOURS["S"])
    axes.invert_yaxis()
    axes.set_title("right tool called", fontsize=10)


def whiskers(found: Sequence[Interval]) -> list[list[float]]:
    """Error bars for matplotlib: lengths below and above, never negative after rounding."""
    return [[max(0.0, each.value - each.low) for each in found], [max(0.0, each.high - each.value) for each in found]]

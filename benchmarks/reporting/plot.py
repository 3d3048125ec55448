"""Draws one small bar chart per figure with a limit."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bots.contestants import CONTESTANTS
from benchmarks.reporting.report import ROWS, Rounds, middle

_COLUMNS = 5
_COLOURS = ("#9aa5b1", "#c3cad2", "#2f6fde")


def plot(path: Path, rounds: Rounds) -> None:
    """Bars are medians, error bars the range over the rounds; the format follows the file's extension."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in ROWS if row.limit()]
    figure, grid = pyplot.subplots(-(-len(rows) // _COLUMNS), _COLUMNS, figsize=(16, 6), layout="constrained")
    for axes in grid.flat[len(rows) :]:
        axes.set_axis_off()
    for axes, row in zip(grid.flat, rows, strict=False):
        values = [[each[row.figure] for each in rounds[bot.name]] for bot in CONTESTANTS]
        heights = [middle(rounds[bot.name], row.figure) for bot in CONTESTANTS]
        below = [height - min(spread) for height, spread in zip(heights, values, strict=True)]
        above = [max(spread) - height for height, spread in zip(heights, values, strict=True)]
        names = [bot.name for bot in CONTESTANTS]
        axes.bar(names, heights, yerr=[below, above], color=_COLOURS, capsize=4)
        axes.set_title(f"{row.figure}\nlimit: {row.limit()}", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)

"""Usage charts as numbers for an SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.admin.formatting import SAY
from handlers.replies.charts import COLOURS, Measure, amount_text, measured
from routing.types.usage import Day

BAR_WIDTH, GAP, HEIGHT = 10.0, 2.0, 100.0
"""The bars' coordinate system; the page stretches it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A segment of a day's bar. `series` numbers its colour, `label` says what it is."""

    x: float
    y: float
    height: float
    series: int
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A stacked bar chart. `ticks` label the axis from top to bottom; `legend` has (series, name, sum)."""

    width: float
    bars: tuple[Bar, ...]
    ticks: tuple[str, ...]
    dates: tuple[str, ...]
    legend: tuple[tuple[int, str, str], ...]
    unknown: int


def usage_chart(days: Sequence[Day], measure: Measure = "cost") -> Chart:
    """One bar per day, one colour per model; in tokens if no price is known."""
    found = measured(days, measure)
    measure, bands, step, ticks = found.measure, found.bands, found.step, found.ticks
    bars, tops = [], [HEIGHT] * len(days)
    for number, band in enumerate(bands):
        for at, amount in enumerate(band.amounts):
            if amount:
                height = HEIGHT * amount / (step * ticks)
                tops[at] -= height
                label = f"{days[at].date:%b %d}, {band.name}: {amount_text(amount, measure, SAY, step)}"
                series = min(number, len(COLOURS))
                bars.append(Bar(at * BAR_WIDTH + GAP / 2, round(tops[at], 2), round(height, 2), series, label))
    return Chart(
        width=len(days) * BAR_WIDTH,
        bars=tuple(bars),
        ticks=tuple(amount_text(step * tick, measure, SAY, step) for tick in range(ticks, -1, -1)),
        dates=tuple(f"{days[at].date:%b %d}" for at in sorted({0, len(days) // 2, len(days) - 1})) if days else (),
        legend=tuple(
            (min(number, len(COLOURS)), band.name, amount_text(sum(band.amounts), measure, SAY, step))
            for number, band in enumerate(bands)
        ),
        unknown=sum(each.unknown for day in days for each in day.models),
    )

"""The results table, with the limits of our bot."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.bots.contestants import CONTESTANTS, FLOOR, OURS
from benchmarks.bots.measure import Figures
from benchmarks.reporting.section import VERDICTS, Section, spread

Rounds = Mapping[str, Sequence[Figures]]
"""The figures of every round, by contestant."""
MEMORY_RATIO = 1.3
"""Maximum ratio of the memory after the turns."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure and its limits: the maximum `ratio` of ours to the floor (or the minimum, if `more_is_better`), and
    `most`."""

    figure: str
    ratio: float | None = None
    most: float | None = None
    more_is_better: bool = False
    digits: int = 1

    def limit(self) -> str:
        """The limits in words."""
        sign = "≥" if self.more_is_better else "≤"
        bounds = [] if self.ratio is None else [f"{sign} {self.ratio:g}×"]
        return ", ".join(bounds + ([] if self.most is None else [f"≤ {self.most:g}"]))

    def holds(self, rounds: Rounds) -> bool | None:
        """Whether ours keeps the limits; None without one."""
        if self.ratio is None and self.most is None:
            return None
        times = ratio(rounds, self.figure)
        within = self.ratio is None or (times >= self.ratio if self.more_is_better else times <= self.ratio)
        return within and (self.most is None or middle(rounds[OURS.name], self.figure) <= self.most)


ROWS = (
    Row("start to first poll, s", ratio=1, most=0.7, digits=2),
    Row("very first start to first poll, s", ratio=1, most=0.7, digits=2),
    Row("start to first reply, s", digits=2),
    Row("serial turn p50, ms", ratio=2),
    Row("serial turn p95, ms", ratio=2),
    Row("first turn in a chat p50, ms"),
    Row("turns a second with many chats", ratio=0.67, more_is_better=True, digits=0),
    Row("CPU a turn, ms", ratio=1.5),
    Row("CPU a turn with many chats, ms", ratio=1.5),
    Row("CPU of a first turn, ms"),
    Row("CPU a turn with a slow model, ms", ratio=1.5),
    Row("previews of a slow answer"),
    Row("RSS when ready, MB", digits=0),
    Row("RSS at the end, MB", ratio=MEMORY_RATIO, digits=0),
    Row("request for hello without its tools, bytes", most=2000, digits=0),
    Row("tools in the request for hello, bytes", digits=0),
    Row("model alone, ms"),
)
"""The project's limits relative to the floor bot; the memory limit includes the tools and their encoder."""


def middle(rounds: Sequence[Figures], figure: str) -> float:
    """The median over the rounds."""
    return statistics.median(each[figure] for each in rounds)


def ratio(rounds: Rounds, figure: str) -> float:
    """Ours relative to the floor: the median of the rounds' ratios, because a shared machine drifts between rounds;
    infinite if the floor's figure is 0."""
    pairs = zip(rounds[OURS.name], rounds[FLOOR.name], strict=True)
    return statistics.median(ours[figure] / floor[figure] if floor[figure] else math.inf for ours, floor in pairs)


def kept(rounds: Rounds) -> bool:
    """Whether every limit holds."""
    return all(row.holds(rounds) is not False for row in ROWS)


def report(rounds: Rounds, conditions: Sequence[str]) -> Section:
    """The table, what it was measured under, and its verdict."""
    return Section("floor", table(rounds), tuple(conditions), kept(rounds), {"rounds": rounds})


def table(rounds: Rounds) -> tuple[tuple[str, ...], ...]:
    """Medians with the spread over the rounds, a figure a line."""
    lines = [("", *(each.name for each in CONTESTANTS), "ours/floor", "limit", "")]
    for row in ROWS:
        cells = [spread([each[row.figure] for each in rounds[bot.name]], row.digits) for bot in CONTESTANTS]
        verdict, times = VERDICTS[row.holds(rounds)], ratio(rounds, row.figure)
        lines.append((row.figure, *cells, "" if math.isinf(times) else f"{times:.2f}×", row.limit(), verdict))
    return tuple(lines)

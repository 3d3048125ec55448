"""Confidence intervals (95 %) for figures from few trials."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

NORMAL = 1.959964
"""Standard deviations on either side that hold 95 % of a normal distribution."""
RESAMPLES = 2_000
SEED = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its bounds."""

    value: float
    low: float
    high: float

    def text(self, digits: int = 2) -> str:
        """`0.90 (0.79 to 0.96)`."""
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def proportion(hits: Sequence[bool]) -> Interval | None:
    """Wilson's interval of a proportion, which stays within 0…1; None without a trial."""
    count = len(hits)
    if not count:
        return None
    share, square = sum(hits) / count, NORMAL**2
    centre = (share + square / (2 * count)) / (1 + square / count)
    reach = NORMAL / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return Interval(share, max(0.0, centre - reach), min(1.0, centre + reach))


def mean(values: Sequence[float]) -> Interval | None:
    """Bootstrap interval: the middle 95 % of resampled means, with a fixed seed; None without a value."""
    count = len(values)
    if not count:
        return None
    rng = random.Random(SEED)
    means = sorted(sum(rng.choices(values, k=count)) / count for _ in range(RESAMPLES))
    tail = round(RESAMPLES * 0.025)
    return Interval(sum(values) / count, means[tail], means[-tail - 1])

"""Checks that time grows linearly with the input."""

from __future__ import annotations

import time
from collections.abc import Callable

MIN_MEASURABLE_SECONDS = 0.004
"""Seconds of CPU; less is noise, and what is quadratic takes more at the largest size."""
MAX_RATIO = 11.0
"""How many times longer a text four times as long may take: 4 is linear, 16 is quadratic."""
MIN_LONG_SIZE = 1_000
"""Above this time, a text four times as long would still end."""
MIN_SECONDS = 0.0005
"""Seconds taken for the shorter text where it took less: it may be too short to be worked on at all, so that the longer
one only looks superlinear."""
SIZES = (16, 24, 250, 1_000, 6_000)
"""The small sizes find exponential growth before it would hang."""


def superlinear(work: Callable[[int], object], sizes: tuple[int, ...] = SIZES) -> str:
    """Says why `work(n)` is worse than linear in n, or returns ""."""
    for size in sizes:
        took = _seconds(work, size)
        if took > MIN_MEASURABLE_SECONDS and size // 4 and _worse(work, size):
            return f"{size} take {took:.3f} s, {size // 4} take {_seconds(work, size // 4):.4f} s"
    return ""


def _worse(work: Callable[[int], object], size: int) -> bool:
    """Measures twice more, the second time with a longer text if that finishes, because other programs cause
    outliers."""
    longer = size * 4 if size >= MIN_LONG_SIZE else size
    return all(_ratio(work, each) > MAX_RATIO for each in (size, longer))


def _ratio(work: Callable[[int], object], size: int) -> float:
    return min(_seconds(work, size) for _ in range(3)) / max(
        min(_seconds(work, size // 4) for _ in range(3)), MIN_SECONDS
    )


def _seconds(work: Callable[[int], object], size: int) -> float:
    begun = time.thread_time()
    work(size)
    return max(time.thread_time() - begun, 1e-6)

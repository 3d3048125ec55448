"""Deadlines of turns and their parts."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """Create a clock of Unix seconds that continues monotonically. Waits and deadlines use it, so changes of the system
    clock don't affect them."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class Deadline:
    """The deadline of a turn with its tools and attempts. Time spent waiting for a concurrency slot doesn't count."""

    def __init__(self, clock: Callable[[], float], seconds: float, whole: Deadline | None = None) -> None:
        """`whole` is the deadline that this one is part of."""
        self._clock = clock
        self._whole = whole
        self._began = clock()
        self.seconds = seconds

    def allow(self, seconds: float) -> None:
        """Change the total time, counted from the beginning, after a change of tier."""
        self.seconds = seconds

    def wait(self, seconds: float) -> None:
        """Add time spent waiting for a slot."""
        self._began += seconds
        if self._whole is not None:
            self._whole.wait(seconds)

    def part(self, seconds: float) -> Deadline:
        """A deadline for a part of the turn, starting now."""
        return Deadline(self._clock, seconds, self)

    @property
    def left(self) -> float:
        """Remaining seconds; never below 0."""
        return max(0.0, self._began + self.seconds - self._clock())

    @property
    def passed(self) -> bool:
        return self.left <= 0.0

    @property
    def taken(self) -> float:
        """Seconds since the beginning, without waiting for slots."""
        return self._clock() - self._began

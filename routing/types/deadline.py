"""When a turn must be over."""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_clock() -> Callable[[], float]:
    """Unix seconds of now, from here on counted by the monotonic clock. Waits and deadlines follow this one, so a
    system clock that is set back or forward moves none of them."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class Deadline:
    """One for a whole turn, its tools and all its tries. What is waited in line for a place is not the turn's time."""

    def __init__(self, clock: Callable[[], float], seconds: float, whole: Deadline | None = None) -> None:
        """`whole` is what this is a part of."""
        self._clock = clock
        self._whole = whole
        self._began = clock()
        self.seconds = seconds

    def allow(self, seconds: float) -> None:
        """The turn has another tier now: so long may it take in all, counted from its beginning."""
        self.seconds = seconds

    def wait(self, seconds: float) -> None:
        """So long it waited in line."""
        self._began += seconds
        if self._whole is not None:
            self._whole.wait(seconds)

    def part(self, seconds: float) -> Deadline:
        """One for something within the turn, from now on."""
        return Deadline(self._clock, seconds, self)

    @property
    def left(self) -> float:
        """Seconds; never below 0."""
        return max(0.0, self._began + self.seconds - self._clock())

    @property
    def passed(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0.0

    @property
    def taken(self) -> float:
        """Seconds since the turn began, without those in line."""
        return self._clock() - self._began

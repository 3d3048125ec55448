"""How long a model asked to be left alone."""

from __future__ import annotations

from routing.errors import ModelError, RateLimited
from routing.ports import Clock

LONGEST_SECONDS = 3600.0
"""A Retry-After beyond this is not believed."""
_NEARLY = 0.05
"""Seconds by which a wait may be short: clocks and timers differ."""


class Cooldowns:
    """Retry-After, kept: within it a model is not asked again, whoever asks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def note(self, error: ModelError) -> None:
        """What a provider asked for, if it did."""
        if error.retry_after:
            self._until[error.model] = self._clock() + min(error.retry_after, LONGEST_SECONDS)

    def check(self, model: str) -> None:
        """Raises RateLimited while the model is to be left alone."""
        until = self._until.get(model)
        if until is None:
            return
        left = until - self._clock()
        if left > _NEARLY:
            raise RateLimited(model, f"try again in {left:.0f} s", left)
        self._until.pop(model, None)

"""How long a model asked to be left alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from routing.errors import ModelError, RateLimited, Reason
from routing.ports import Clock

LONGEST_WAIT_SECONDS = 30.0
"""A Retry-After up to this is waited for, where nobody else can be asked."""


LONGEST_SECONDS = 3600.0
"""A Retry-After beyond this is not believed."""
_NEARLY = 0.05
"""Seconds by which a wait may be short: clocks and timers differ."""


class Cooldowns:
    """Retry-After, kept: within it a model is not asked again, whoever asks. `changed` is told of a new one; it must
    return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._until: dict[str, float] = {}

    def note(self, error: ModelError) -> None:
        """What a provider asked for, if it did."""
        if error.retry_after:
            self._until[error.model] = self._clock() + min(error.retry_after, LONGEST_SECONDS)
            self._changed()

    def until(self, model: str) -> float | None:
        """When the model may be asked again (Unix seconds); None for at once."""
        until = self._until.get(model)
        if until is None or until - self._clock() > _NEARLY:
            return until
        self._until.pop(model, None)
        return None

    def left(self, model: str) -> float:
        """Seconds until the model may be asked again; 0 for at once."""
        until = self.until(model)
        return 0.0 if until is None else until - self._clock()

    def check(self, model: str) -> None:
        """Raises RateLimited while the model is to be left alone."""
        left = self.left(model)
        if left > 0:
            raise RateLimited(model, Reason("try again in {seconds:.0f} s", seconds=left), left)

    def keep(self) -> dict[str, float]:
        """Those that last, for the next start: the model and until when."""
        every = ((model, self.until(model)) for model in tuple(self._until))
        return {model: until for model, until in every if until is not None}

    def restore(self, kept: Mapping[str, float]) -> None:
        """As they were; what lies in the future by a wrong clock is brought back to what can be."""
        latest = self._clock() + LONGEST_SECONDS
        self._until.update({model: min(until, latest) for model, until in kept.items()})

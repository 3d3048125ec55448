"""Cooldowns that providers request with Retry-After."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from routing.errors import ModelError, RateLimited, Reason
from routing.ports import Clock

MAX_WAIT_SECONDS = 30.0
"""Maximum Retry-After that a turn waits for if no other model is left."""
MAX_SECONDS = 3600.0
"""Longer Retry-After values are cut to this."""
_NEARLY = 0.05
"""Tolerance in seconds, because clocks and timers differ."""


class Cooldowns:
    """Stores Retry-After times; until then a model isn't called for anyone. `changed` is called for a new one; it must
    return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._until: dict[str, float] = {}

    def note(self, error: ModelError) -> None:
        """Store the error's Retry-After, if any."""
        if error.retry_after:
            self._until[error.model] = self._clock() + min(error.retry_after, MAX_SECONDS)
            self._changed()

    def until(self, model: str) -> float | None:
        """When the model may be called again (Unix seconds); None: now."""
        until = self._until.get(model)
        if until is None or until - self._clock() > _NEARLY:
            return until
        self._until.pop(model, None)
        return None

    def left(self, model: str) -> float:
        """Seconds until the model may be called again; 0: now."""
        until = self.until(model)
        return 0.0 if until is None else until - self._clock()

    def check(self, model: str) -> None:
        """Raises RateLimited during a cooldown."""
        left = self.left(model)
        if left > 0:
            raise RateLimited(model, Reason("try again in {seconds:.0f} s", seconds=left), left)

    def keep(self) -> dict[str, float]:
        """The running cooldowns to save: model and end."""
        every = ((model, self.until(model)) for model in tuple(self._until))
        return {model: until for model, until in every if until is not None}

    def restore(self, kept: Mapping[str, float]) -> None:
        """Restore saved cooldowns. Times too far in the future (a wrong clock) are cut."""
        latest = self._clock() + MAX_SECONDS
        self._until.update({model: min(until, latest) for model, until in kept.items()})

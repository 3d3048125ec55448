"""Context windows learned from refusals, where they are smaller than in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from routing.bounded import Bounded
from routing.ports import Clock

NAMED_SECONDS = 7 * 86_400.0
"""How long a limit named by the provider is kept; the model may get a larger window later."""
GUESSED_SECONDS = 3_600.0
"""How long a guessed window is kept; it may be far too small."""
MIN_TOKENS = 512
"""Minimum window to learn; conversations don't fit into less."""
MAX_ENTRIES = 500
"""Maximum number of models in memory. People can enter any model name."""

SavedWindow = tuple[int, float]
"""Window in tokens, and its expiry in Unix seconds."""


class LearnedWindows:
    """Learned windows by model, in tokens. `changed` is called for a new one; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._learned = Bounded[str, SavedWindow](MAX_ENTRIES)

    def of(self, model: str) -> int | None:
        """The learned window; None if there is none."""
        tokens, until = self._learned.get(model, (0, 0.0))
        return tokens if until > self._clock() else None

    def refused(self, model: str, window: int, limit: int | None) -> int:
        """Learn from a refused prompt that was made for `window` tokens; `limit` is the limit named by the provider.
        The new window is that limit if it is smaller; three quarters of the old one if not, because our estimate was
        too low; half if no limit was named."""
        smaller = window // 2 if limit is None else limit if limit < window else window * 3 // 4
        learned = min(window, max(smaller, MIN_TOKENS))
        kept = NAMED_SECONDS if learned == limit else GUESSED_SECONDS
        self._learned[model] = (learned, self._clock() + kept)
        self._changed()
        return learned

    def forget(self, model: str) -> None:
        """Drop the window, because the provider refused a smaller prompt, too."""
        if self._learned.pop(model, None) is not None:
            self._changed()

    def keep(self) -> dict[str, SavedWindow]:
        now = self._clock()
        return {model: kept for model, kept in self._learned.items() if kept[1] > now}

    def restore(self, kept: Mapping[str, SavedWindow]) -> None:
        """Restore saved windows. Times too far in the future (a wrong clock) are cut."""
        latest = self._clock() + NAMED_SECONDS
        for model, (tokens, until) in kept.items():
            self._learned[model] = (tokens, min(until, latest))

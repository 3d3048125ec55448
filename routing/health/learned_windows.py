"""Context windows that providers have turned out to have, where they are smaller than the catalogue says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from routing.ports import Clock

SAID_SECONDS = 7 * 86_400.0
"""How long a limit holds that the provider named: a model of that name may have a larger window by then."""
GUESSED_SECONDS = 3_600.0
"""How long half a window holds. It may be far too small."""
LEAST_TOKENS = 512
"""Nothing smaller is learned: a conversation does not fit into less."""
MOST = 500
"""Models that are remembered. Names come from people: there is no end of them."""

Kept = tuple[int, float]
"""Tokens, and until when they hold (Unix seconds)."""


class Windows:
    """By model, in tokens. `changed` is told of a new one; it must return at once."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self._changed = changed
        self._learned: dict[str, Kept] = {}

    def of(self, model: str) -> int | None:
        """The window that was learned; None where the catalogue's was never refused."""
        tokens, until = self._learned.get(model, (0, 0.0))
        return tokens if until > self._clock() else None

    def refused(self, model: str, window: int, said: int | None) -> int:
        """A prompt made for this `window` was too long; `said` is the limit that the provider named. The window from
        now on: that limit where it is smaller; three quarters where it is not, because then our estimate of the prompt
        was too low; half where no limit was named."""
        smaller = window // 2 if said is None else said if said < window else window * 3 // 4
        learned = min(window, max(smaller, LEAST_TOKENS))
        if model not in self._learned and len(self._learned) >= MOST:
            del self._learned[next(iter(self._learned))]
        kept = SAID_SECONDS if learned == said else GUESSED_SECONDS
        self._learned[model] = (learned, self._clock() + kept)
        self._changed()
        return learned

    def forget(self, model: str) -> None:
        """The smaller prompt was refused, too: nothing was learned by it."""
        if self._learned.pop(model, None) is not None:
            self._changed()

    def keep(self) -> dict[str, Kept]:
        """For the next start."""
        now = self._clock()
        return {model: kept for model, kept in self._learned.items() if kept[1] > now}

    def restore(self, kept: Mapping[str, Kept]) -> None:
        """As they were; what lies in the future by a wrong clock is brought back to what can be."""
        latest = self._clock() + SAID_SECONDS
        self._learned |= {model: (tokens, min(until, latest)) for model, (tokens, until) in kept.items()}

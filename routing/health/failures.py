"""The last failure of each model, for /status."""

from __future__ import annotations

import math
from collections.abc import Sequence

from routing.bounded import Bounded


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


MAX_FAILURES = 100
"""Maximum number of models in memory. People can enter any model name."""


class Failures:
    """Remembers the last failure of each model."""

    def __init__(self) -> None:
        self._last = Bounded[str, tuple[str, float]](MAX_FAILURES)

    def note(self, model: str, reason: str, at: float) -> None:
        self._last[model] = (reason, at)

    def recent(self) -> tuple[tuple[str, str, float], ...]:
        """(model, reason, at), newest first."""
        return tuple((model, *self._last[model]) for model in reversed(self._last))

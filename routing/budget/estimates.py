"""Estimates the length of an answer before it is written."""

from __future__ import annotations

from routing.bounded import Bounded
from routing.types.tiers import Tier

SHARE = 0.25
"""Share of the output limit expected from a model without history. Answers rarely reach the limit, and a spending
limit should refuse too early rather than too late."""
PRIOR = 4
"""The initial expectation counts as this many calls and fades with the first real ones."""
MAX_CALLS = 50
"""The mean covers about this many calls; newer ones count more."""
MAX_MODELS = 1_000
"""Maximum number of models per tier in memory. People can enter any model name."""


class OutputLengths:
    """The running mean of a model's output length in a tier, reasoning included. The mean, because errors cancel out
    over many calls; the maximum would refuse people who have money left (a deep answer may take 80,000 tokens and takes
    5,000)."""

    def __init__(self) -> None:
        self._means = Bounded[tuple[Tier, str], tuple[float, int]](MAX_MODELS)

    def expected(self, tier: Tier, model: str, most: int) -> int:
        """Expected output tokens, at most `most`, the limit of the call."""
        mean, calls = self._means.get((tier, model), (0.0, 0))
        weight = max(0, PRIOR - calls)
        return round(min(float(most), (weight * SHARE * most + calls * mean) / (weight + calls)))

    def note(self, tier: Tier, model: str, tokens: int) -> None:
        """Record the output tokens of a finished call."""
        mean, calls = self._means.get((tier, model), (0.0, 0))
        calls = min(calls + 1, MAX_CALLS)
        self._means[tier, model] = (mean + (tokens - mean) / calls, calls)

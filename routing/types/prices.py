"""Prices of models."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token for prompts of more than `above` tokens; `cached` applies to tokens in the provider's
    cache."""

    input: Decimal
    output: Decimal
    cached: Decimal
    above: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rates, sorted by `above`: some providers charge more for every token of a long prompt. `assumed`: set
    by the owner for unknown prices."""

    rates: tuple[Rates, ...]
    assumed: bool = False

    @classmethod
    def flat(cls, per_million: Decimal) -> Price:
        """The owner's assumption for unknown prices: the same rate for every token."""
        each = per_million / MILLION
        return cls((Rates(each, each, each),), assumed=True)

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        """The cost of a call in US dollars; `input_tokens` includes `cached_tokens`."""
        rates = next((each for each in reversed(self.rates) if input_tokens > each.above), self.rates[0])
        fresh = max(0, input_tokens - cached_tokens)
        return fresh * rates.input + min(cached_tokens, input_tokens) * rates.cached + output_tokens * rates.output

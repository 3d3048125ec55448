"""What a model's tokens cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars a token, for prompts of more than `above` tokens; `cached` is for what the provider remembers."""

    input: Decimal
    output: Decimal
    cached: Decimal
    above: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """A model's rates, by rising `above`: some providers charge more for every token of a long prompt. `assumed`: it is
    not the provider's, the owner said to reckon with it."""

    rates: tuple[Rates, ...]
    assumed: bool = False

    @classmethod
    def flat(cls, per_million: Decimal) -> Price:
        """The owner's assumption where nobody knows: the same for every token."""
        each = per_million / MILLION
        return cls((Rates(each, each, each),), assumed=True)

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        """US dollars of one call; `cached_tokens` are among `input_tokens`."""
        rates = next((each for each in reversed(self.rates) if input_tokens > each.above), self.rates[0])
        fresh = max(0, input_tokens - cached_tokens)
        return fresh * rates.input + min(cached_tokens, input_tokens) * rates.cached + output_tokens * rates.output

"""What a call will cost, said before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.ports import PriceList
from routing.types.prices import Price
from routing.types.tiers import Tier

SHARE = 0.25
"""Of the tokens that an answer may have, as many are expected of a model that has not answered yet: answers are cut
seldom, and a limit should rather say no too early than too late."""
PRIOR = 4
"""What is expected without experience counts as so many calls, and gives way to the first that are made."""
MOST_CALLS = 50
"""The newest calls count most: about so many make the mean."""

MOST_MODELS = 1_000
"""Models in a tier that are remembered. Names come from people: there is no end of them."""


class Outputs:
    """How long a model's answers are in a tier, reasoning included: a running mean that begins at a share of what they
    may have. A mean, for over many calls its errors cancel out; not the most there may be, which would refuse people
    who have money left (a deep answer may have 80,000 tokens and has 5,000)."""

    def __init__(self) -> None:
        self._means: dict[tuple[Tier, str], tuple[float, int]] = {}

    def expected(self, tier: Tier, model: str, most: int) -> int:
        """Tokens; at most `most`, the limit of the call."""
        mean, calls = self._means.get((tier, model), (0.0, 0))
        weight = max(0, PRIOR - calls)
        return round(min(float(most), (weight * SHARE * most + calls * mean) / (weight + calls)))

    def note(self, tier: Tier, model: str, tokens: int) -> None:
        """A call came to its end with so many tokens."""
        mean, calls = self._means.get((tier, model), (0.0, 0))
        calls = min(calls + 1, MOST_CALLS)
        self._means.pop((tier, model), None)
        self._means[tier, model] = (mean + (tokens - mean) / calls, calls)
        if len(self._means) > MOST_MODELS:
            del self._means[next(iter(self._means))]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one call is expected to take; `dollars` None: nobody knows the price. `assumed`: at the owner's rate."""

    model: str
    input_tokens: int
    output_tokens: int
    dollars: Decimal | None
    assumed: bool = False


class Estimates:
    """Prices a call with the tokens of its prompt and the answer that is to be expected."""

    def __init__(self, prices: PriceList, outputs: Outputs) -> None:
        self._prices = prices
        self._outputs = outputs

    def of(self, tier: Tier, model: str, input_tokens: int, most_output: int, assumed: Price | None = None) -> Estimate:
        """`assumed` stands in for a price that nobody knows. No token is taken to be in the provider's cache."""
        output = self._outputs.expected(tier, model, most_output)
        price = self._prices(model) or assumed
        if price is None:
            return Estimate(model, input_tokens, output, None)
        return Estimate(model, input_tokens, output, price.cost(input_tokens, output), price.assumed)

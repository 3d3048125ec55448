"""Estimates and charges the cost of a council."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from routing.council.council import ALL_SECONDS, MIN_FOR_VOTE
from routing.council.prompts import for_chairman, for_member, for_voter
from routing.council.seats import Seat, strongest
from routing.ports import PriceList
from routing.types.budgets import Price
from routing.types.llm import ChatMessage, Usage
from routing.types.tokens import estimate as tokens
from routing.types.usage import CallRecord

ANSWER_TOKENS = 2_000
"""Tokens of the 1,200 words that a member may write, plus some thinking. An assumption, on the high side."""
BALLOT_TOKENS = 400
"""A line of JSON, and the thinking before it."""
SYNTHESIS_TOKENS = 2_500

_MARK = "0" * 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number of calls if nothing fails, and the maximum time. `cost` sums the known prices in US dollars, `unknown`
    counts the other calls."""

    calls: int
    seconds: float
    cost: Decimal
    unknown: int

    @property
    def dollars(self) -> Decimal | None:
        """US dollars to reserve for all calls; None if no price is known."""
        return None if self.unknown == self.calls else self.cost


def estimate(question: str, seats: Sequence[Seat], prices: PriceList, assumed: Price | None = None) -> Estimate:
    """Estimate the calls for a question if all members answer and vote. `assumed` replaces unknown prices."""
    priced = [(prices(model) or assumed, into, out) for model, into, out in _calls(question, seats)]
    known = [price.cost(int(into), out) for price, into, out in priced if price is not None]
    return Estimate(len(priced), ALL_SECONDS, sum(known, Decimal(0)), len(priced) - len(known))


def _calls(question: str, seats: Sequence[Seat]) -> list[tuple[str, float, int]]:
    """Model, input tokens and output tokens of each call."""
    labels = {seat.model: "" for seat in seats}
    calls = [(seat.model, tokens(for_member(question)), ANSWER_TOKENS) for seat in seats]
    if len(seats) >= MIN_FOR_VOTE:
        for seat in seats:
            others = {model: "" for model in labels if model != seat.model}
            calls.append((seat.model, _reading(for_voter(question, others, _MARK), others), BALLOT_TOKENS))
    chair = strongest(seats).model
    calls.append((chair, _reading(for_chairman(question, labels, {}, _MARK), labels), SYNTHESIS_TOKENS))
    return calls


def _reading(messages: Sequence[ChatMessage], answers: Mapping[str, str]) -> float:
    return tokens(messages) + ANSWER_TOKENS * len(answers)


def charged(calls: Sequence[CallRecord], assumed: Price | None = None, each: Decimal | None = None) -> Usage:
    """Combine the calls into one usage: known costs, plus the others at the `assumed` price; unknown without one. Calls
    without the provider's count cost `each`, the expected amount."""
    counted = [call.usage for call in calls if call.usage is not None]
    costs = [_cost(usage, assumed) for usage in counted] + [each] * (len(calls) - len(counted))
    known = [cost for cost in costs if cost is not None]
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in counted),
        output_tokens=sum(usage.output_tokens for usage in counted),
        cost=sum(known, Decimal(0)) if known else None,
    )


def priced_calls(calls: Sequence[CallRecord], each: Decimal | None) -> tuple[CallRecord, ...]:
    """The calls, with the charged amount for those without the provider's count."""
    return tuple(replace(call, charged=each) if call.usage is None else call for call in calls)


def _cost(usage: Usage, assumed: Price | None) -> Decimal | None:
    if usage.cost is not None or assumed is None:
        return usage.cost
    return assumed.cost(usage.input_tokens, usage.output_tokens, usage.cached_tokens)

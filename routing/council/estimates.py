"""Estimates the cost and time of a council."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from routing.council.council import ALL_SECONDS, LEAST_FOR_VOTE
from routing.council.prompts import for_chairman, for_member, for_voter
from routing.council.seats import Seat, strongest
from routing.types.llm import ChatMessage
from routing.types.tokens import estimate as tokens

ANSWER_TOKENS = 2_000
"""Tokens of the 1,200 words that a member may write, plus some thinking. An assumption, on the high side."""
BALLOT_TOKENS = 400
"""A line of JSON, and the thinking before it."""
SYNTHESIS_TOKENS = 2_500

Price = Callable[[str, int, int], Decimal | None]
"""US dollars by model, input tokens and output tokens; None if unknown."""

_MARK = "0" * 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number of calls if nothing fails, and the maximum time. `cost` sums the known prices in US dollars, `unknown`
    counts the other calls."""

    calls: int
    seconds: float
    cost: Decimal
    unknown: int


def estimate(question: str, seats: Sequence[Seat], price: Price) -> Estimate:
    """Estimate the calls for a question if all members answer and vote."""
    costs = [price(model, int(into), out) for model, into, out in _calls(question, seats)]
    known = [cost for cost in costs if cost is not None]
    return Estimate(len(costs), ALL_SECONDS, sum(known, Decimal(0)), len(costs) - len(known))


def _calls(question: str, seats: Sequence[Seat]) -> list[tuple[str, float, int]]:
    """Model, input tokens and output tokens of each call."""
    labels = {seat.model: "" for seat in seats}
    calls = [(seat.model, tokens(for_member(question)), ANSWER_TOKENS) for seat in seats]
    if len(seats) >= LEAST_FOR_VOTE:
        for seat in seats:
            others = {model: "" for model in labels if model != seat.model}
            calls.append((seat.model, _reading(for_voter(question, others, _MARK), others), BALLOT_TOKENS))
    chair = strongest(seats).model
    calls.append((chair, _reading(for_chairman(question, labels, {}, _MARK), labels), SYNTHESIS_TOKENS))
    return calls


def _reading(messages: Sequence[ChatMessage], answers: Mapping[str, str]) -> float:
    return tokens(messages) + ANSWER_TOKENS * len(answers)

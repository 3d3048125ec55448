"""What a council will take, said before it begins."""

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
"""What the 1,200 words that a member is told to keep take, and a little thought. An assumption, on the high side."""
BALLOT_TOKENS = 400
"""A line of JSON, and the thought before it."""
SYNTHESIS_TOKENS = 2_500

Price = Callable[[str, int, int], Decimal | None]
"""US dollars for a model, tokens in, tokens out; None is unknown."""

_MARK = "0" * 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """`calls` if all goes well, `seconds` at most; `cost` in US dollars is of the calls whose price is known, `unknown`
    counts the others."""

    calls: int
    seconds: float
    cost: Decimal
    unknown: int


def estimate(question: str, seats: Sequence[Seat], price: Price) -> Estimate:
    """The calls that these members make for a question when all of them answer and all vote."""
    costs = [price(model, int(into), out) for model, into, out in _calls(question, seats)]
    known = [cost for cost in costs if cost is not None]
    return Estimate(len(costs), ALL_SECONDS, sum(known, Decimal(0)), len(costs) - len(known))


def _calls(question: str, seats: Sequence[Seat]) -> list[tuple[str, float, int]]:
    """Model, tokens in, tokens out."""
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

"""Reserves and charges the cost of a council."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from routing.council.estimates import Estimate, estimate
from routing.council.seats import Seat
from routing.ports import PriceList
from routing.types.llm import Usage
from routing.types.prices import Price
from routing.types.usage import CallRecord


def expected(question: str, seats: Sequence[Seat], prices: PriceList, assumed: Price | None = None) -> Estimate:
    """The expected cost; `assumed` replaces unknown prices."""

    def price(model: str, into: int, out: int) -> Decimal | None:
        known = prices(model) or assumed
        return None if known is None else known.cost(into, out)

    return estimate(question, seats, price)


def to_hold(reckoned: Estimate) -> Decimal | None:
    """US dollars to reserve for all calls; None if no price is known."""
    return None if reckoned.unknown == reckoned.calls else reckoned.cost


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


def for_books(calls: Sequence[CallRecord], each: Decimal | None) -> tuple[CallRecord, ...]:
    """The calls, with the charged amount for those without the provider's count."""
    return tuple(replace(call, charged=each) if call.usage is None else call for call in calls)


def _cost(usage: Usage, assumed: Price | None) -> Decimal | None:
    if usage.cost is not None or assumed is None:
        return usage.cost
    return assumed.cost(usage.input_tokens, usage.output_tokens, usage.cached_tokens)

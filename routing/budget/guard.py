"""Reserves the expected cost of each call."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from decimal import Decimal

from routing.budget.budget import Budget
from routing.budget.estimates import OutputLengths
from routing.budget.reservation import Reservation
from routing.ports import PriceList
from routing.types.budgets import BudgetExceeded, Reached
from routing.types.llm import ModelRequest, ToolSpec, Usage
from routing.types.tokens import UNITS, estimate, text_weight
from routing.types.usage import TurnCost

UNCOUNTED_TOKENS = 3_000
"""Assumed tokens of a call without the provider's count, if unknown prices are charged: a question in a conversation
with the bot's instructions."""
UNLIMITED_OUTPUT = 4_096
"""Assumed output tokens of a call without a limit."""


class BudgetGuard:
    """Checks calls against the spending limits. `prices` may have to wait for the price map."""

    def __init__(self, budget: Budget, prices: Callable[[], Awaitable[PriceList]]) -> None:
        self.budget = budget
        self.prices = prices
        self._outputs = OutputLengths()

    async def estimate(self, request: ModelRequest, tokens: int | None = None) -> Decimal | None:
        """The expected cost, in US dollars, of a call with a prompt of `tokens` (None: counted from the request). None
        if its price is unknown. Assumes that nothing comes from the provider's cache."""
        if tokens is None:
            tokens = round(estimate(request.messages) + _weight(request.tools) / UNITS)
        output = self._outputs.expected(request.tier, request.model, request.max_output or UNLIMITED_OUTPUT)
        price = (await self.prices())(request.model) or self.budget.limits.assumed
        return None if price is None else price.cost(tokens, output)

    async def hold(self, request: ModelRequest, cost: TurnCost) -> Reservation:
        """Reserve the cost of a call in every limit of its payer. Does nothing without limits. Raises
        BudgetExceeded."""
        if not await self.budget.ceilings(cost.person_id, cost.payer):
            return Reservation((), None, None, None)
        return await self._held(request.model, await self.estimate(request), cost)

    async def hold_dollars(self, model: str, dollars: Decimal | None, cost: TurnCost) -> Reservation:
        """Reserve the cost of a call that isn't priced by tokens (None: unknown; assumed to cost as much as one call).
        Raises BudgetExceeded."""
        assumed = self.budget.limits.assumed
        if dollars is None and assumed is not None:
            dollars = assumed.cost(UNCOUNTED_TOKENS, 0)
        return await self._held(model, dollars, cost)

    async def _held(self, model: str, dollars: Decimal | None, cost: TurnCost) -> Reservation:
        found = await self.budget.reserve(cost.person_id, cost.chat, dollars, force=cost.cheapest, payer=cost.payer)
        if isinstance(found, Reached):
            raise BudgetExceeded(model, found, self.budget.limits.at_limit == "cheapest")
        cost.over = found.reached or cost.over
        return found

    async def has_room(self, request: ModelRequest, tokens: int, cost: TurnCost) -> bool:
        """Whether every limit of the payer has room for a call with a prompt of `tokens`."""
        dollars = await self.estimate(request, tokens)
        return all(each.fits(dollars) for each in await self.budget.statuses(cost.person_id, cost.chat, cost.payer))

    def settle(self, held: Reservation, request: ModelRequest, usage: Usage | None) -> None:
        held.settle(usage)
        if usage is not None:
            self._outputs.note(request.tier, request.model, usage.output_tokens)


def _weight(tools: tuple[ToolSpec, ...]) -> int:
    """The weight of the tool definitions; see `text_weight`."""
    return sum(text_weight(f"{each.name} {each.description} {json.dumps(dict(each.parameters))}") for each in tools)

"""Reserves the expected cost of a call in all limits at once."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import TracebackType
from typing import Self

from routing.budget.accounts import NOTHING, Account
from routing.types.budgets import Price, Reached
from routing.types.llm import Usage


class Reservation:
    """Leaving the context releases what was not settled. `reached` is a limit that the call exceeds anyway, for a
    warning."""

    def __init__(
        self, accounts: Sequence[Account], dollars: Decimal | None, assumed: Price | None, reached: Reached | None
    ) -> None:
        self.dollars = dollars
        self.reached = reached
        self._accounts = tuple(accounts)
        self._assumed = assumed
        self._held = dollars or NOTHING
        for account in self._accounts:
            account.held += self._held

    def settle(self, usage: Usage | None) -> None:
        """Charge the call, once. Without the provider's count it costs the expected amount."""
        charged = self._charge(usage)
        unknown = usage is None or usage.cost is None
        for account in self._accounts:
            account.spent += charged
            account.unknown += unknown
        self.release()
        self._accounts = ()

    def release(self) -> None:
        """Release the reservation of a call that was not made or failed."""
        for account in self._accounts:
            account.held -= self._held
        self._held = NOTHING

    def _charge(self, usage: Usage | None) -> Decimal:
        if usage is None:
            return self.dollars or NOTHING
        if usage.cost is None and self._assumed is not None:
            return self._assumed.cost(usage.input_tokens, usage.output_tokens)
        return usage.cost or NOTHING

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

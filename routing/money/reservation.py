"""What a call may cost, held from every limit at once until it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Self

from routing.calls import Usage
from routing.money.accounts import NOTHING, Account
from routing.money.limits import Ceiling
from routing.money.prices import Price


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a limit is used: what was `spent` (with what unknown prices are reckoned at), what calls under way may
    take (`held`), how many calls of unknown price there were; it opens again at `opens_at`, Unix seconds."""

    ceiling: Ceiling
    spent: Decimal
    held: Decimal
    unknown: int
    opens_at: float

    @property
    def left(self) -> Decimal:
        """US dollars, never below 0."""
        return max(NOTHING, self.ceiling.dollars - self.spent - self.held)

    def fits(self, dollars: Decimal | None, held: bool = True) -> bool:
        """Whether there is room for a call. One that is free always fits, one of unknown price where anything is left;
        `held` False asks how it will be once the calls under way have cost nothing."""
        taken = self.spent + self.held if held else self.spent
        if dollars is None:
            return taken < self.ceiling.dollars
        return not dollars or taken + dollars <= self.ceiling.dollars


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit without room for a call; `needs` is what the call would cost, None where nobody knows."""

    standing: Standing
    needs: Decimal | None

    @property
    def never(self) -> bool:
        """The call alone is above the limit: there is no use in waiting."""
        return self.needs is not None and self.needs > self.standing.ceiling.dollars

    @property
    def busy(self) -> bool:
        """Only what is held for calls under way stands in the way: there may be room when they are done."""
        return self.standing.fits(self.needs, held=False)


class Reservation:
    """Leaving the context gives back what was not settled. `reached` is a limit that the call goes beyond all the
    same, for a warning."""

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
        """The call was made; once. Without the provider's count it is taken to have cost what was expected."""
        charged = self._charge(usage)
        unknown = usage is None or usage.cost is None
        for account in self._accounts:
            account.spent += charged
            account.unknown += unknown
        self.release()
        self._accounts = ()

    def release(self) -> None:
        """The call was not made, or nothing came of it."""
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

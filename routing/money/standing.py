"""How far a limit is used, and what that means for a call."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from routing.money.limits import Ceiling


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
        return max(Decimal(0), self.ceiling.dollars - self.spent - self.held)

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

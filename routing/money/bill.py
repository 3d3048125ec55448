"""Who pays for a turn, and what for."""

from __future__ import annotations

from dataclasses import dataclass, field

from routing.money.limits import PayerKind
from routing.money.standing import Reached
from routing.outcome import CallRecord
from routing.types import ChatKey


@dataclass(slots=True)
class Bill:
    """One for a whole turn: `calls` are all that were made for it, also those that brought nothing; `consulted` of them
    were a council's. `over` is a limit that the turn went beyond all the same: because the owner only wants a warning,
    or (`cheapest`) because it is answered by the cheapest model."""

    person_id: int
    chat: ChatKey
    payer: PayerKind = "known"
    cheapest: bool = False
    over: Reached | None = None
    calls: list[CallRecord] = field(default_factory=list)
    consulted: int = 0

    @property
    def counted(self) -> int:
        """How many calls count towards the turn's maximum. A council has a maximum of its own."""
        return len(self.calls) - self.consulted

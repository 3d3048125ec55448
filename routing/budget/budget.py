"""Checks spending limits before each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from routing.budget.accounts import Account, Accounts
from routing.budget.reservation import Reservation
from routing.ports import BudgetStore, Clock, SpendingStore
from routing.types.budgets import BudgetLimits, BudgetStatus, Ceiling, PayerKind, PersonLimits, Reached
from routing.types.messages import ChatKey


class Budget:
    """Reserves the cost of a call before it and settles it after. Reservations are in memory only; spending is in the
    database, except that of unfinished turns."""

    def __init__(
        self, limits: Callable[[], BudgetLimits], spending: SpendingStore, people: BudgetStore, clock: Clock
    ) -> None:
        """`limits` returns the current limits of the configuration."""
        self._read_limits = limits
        self._people = people
        self._accounts = Accounts(spending, clock)
        self._known = limits()
        self._own: Mapping[int, PersonLimits] | None = None
        self._changes = 0

    async def reserve(
        self,
        person_id: int,
        chat: ChatKey,
        dollars: Decimal | None,
        *,
        force: bool = False,
        payer: PayerKind = "known",
    ) -> Reservation | Reached:
        """Reserve the expected cost of a call (None: unknown), or return the limit that has no room for it; of several,
        the one that resets last. With `force` (a call of the cheapest model), or if the configuration says `warn`, the
        cost is reserved anyway."""
        limits = self._now()
        found = await self._found(person_id, chat, limits, payer)
        # No await from here on, so that two turns can't both take the last of a limit.
        reached = [Reached(each, dollars) for each, _ in found if not each.fits(dollars)]
        last = max(reached, key=lambda each: (each.never, each.status.resets_at), default=None)
        if last is not None and not force and limits.at_limit != "warn":
            return last
        return Reservation([account for _, account in found], dollars, limits.assumed, last)

    async def statuses(self, person_id: int, chat: ChatKey, payer: PayerKind = "known") -> tuple[BudgetStatus, ...]:
        """The status of every limit that applies to this person in this chat."""
        return tuple(status for status, _ in await self._found(person_id, chat, self._now(), payer))

    @property
    def limits(self) -> BudgetLimits:
        """The current limits for everyone."""
        return self._read_limits()

    async def ceilings(self, person_id: int, payer: PayerKind = "known") -> tuple[Ceiling, ...]:
        """The limits that apply to this person in any chat; empty if there are none."""
        return self._now().ceilings(await self.limits_of(person_id), payer)

    async def limits_of(self, person_id: int) -> PersonLimits:
        """The limits that the owner set for this person."""
        own = self._own
        if own is None:
            changes = self._changes
            own = await self._people.everyone()
            if changes == self._changes:  # otherwise it may be stale
                self._own = own
        return own.get(person_id, PersonLimits())

    async def set_limits(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        """Set a person's limits; recorded in the audit log."""
        await self._people.set(person_id, limits, actor)
        self.reread(person_id)

    def reread(self, *people: int) -> None:
        """Read everyone's limits again, and the sums of these people, after their accounts were merged."""
        self._own = None
        self._changes += 1
        self._accounts.reread(*people)

    def forget(self) -> None:
        """Read everyone's limits and sums again, after another process changed them. What running turns have spent, but
        not stored, is left out from then on."""
        self.reread()
        self._accounts.forget()

    def _now(self) -> BudgetLimits:
        """The current limits. After a change all sums are read again, because none are kept without a limit."""
        limits = self.limits
        if limits != self._known:
            self._known = limits
            self._accounts.forget()
        return limits

    async def _found(
        self, person_id: int, chat: ChatKey, limits: BudgetLimits, payer: PayerKind
    ) -> list[tuple[BudgetStatus, Account]]:
        ceilings = limits.ceilings(await self.limits_of(person_id), payer)
        opened = await self._accounts.current(ceilings, person_id, chat, limits, payer)
        return [
            (BudgetStatus(ceiling, account.spent, account.held, account.unknown, period.end), account)
            for ceiling, (account, period) in zip(ceilings, opened, strict=True)
        ]

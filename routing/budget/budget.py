"""Limits of money, checked before a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from routing.budget.accounts import Account, Accounts
from routing.budget.reservation import Reservation
from routing.ports import BudgetStore, Clock, SpendingStore
from routing.types.budgets import BudgetLimits, BudgetStatus, Ceiling, PayerKind, PersonLimits, Reached
from routing.types.messages import ChatKey


class Budget:
    """Reserves before a call and settles after it. Reservations are lost with the process; what was spent is in the
    database, but for the turns that had not ended."""

    def __init__(
        self, limits: Callable[[], BudgetLimits], spending: SpendingStore, people: BudgetStore, clock: Clock
    ) -> None:
        """`limits` are those of the configuration, which may change."""
        self._read_limits = limits
        self._people = people
        self._accounts = Accounts(spending, clock)
        self._known = limits()
        self._own: Mapping[int, PersonLimits] | None = None

    async def reserve(
        self,
        person_id: int,
        chat: ChatKey,
        dollars: Decimal | None,
        *,
        even_so: bool = False,
        payer: PayerKind = "known",
    ) -> Reservation | Reached:
        """Hold what a call of this person in this chat may cost (None: nobody knows); or say which limit has no room
        for it, the last to open if there are several. With `even_so` (a call to the cheapest model), and where the
        configuration says `warn`, it is held all the same."""
        limits = self._now()
        found = await self._found(person_id, chat, limits, payer)
        # Nothing waits from here on: two turns can't both take the last of a limit.
        reached = [Reached(each, dollars) for each, _ in found if not each.fits(dollars)]
        last = max(reached, key=lambda each: (each.never, each.standing.opens_at), default=None)
        if last is not None and not even_so and limits.at_limit != "warn":
            return last
        return Reservation([account for _, account in found], dollars, limits.assumed, last)

    async def standings(self, person_id: int, chat: ChatKey, payer: PayerKind = "known") -> tuple[BudgetStatus, ...]:
        """Every limit that holds for this person in this chat."""
        return tuple(standing for standing, _ in await self._found(person_id, chat, self._now(), payer))

    @property
    def limits(self) -> BudgetLimits:
        """What holds for everyone now."""
        return self._read_limits()

    async def ceilings(self, person_id: int, payer: PayerKind = "known") -> tuple[Ceiling, ...]:
        """What holds for this person in any chat; nothing where nothing is limited."""
        return self._now().ceilings(await self.limits_of(person_id), payer)

    async def limits_of(self, person_id: int) -> PersonLimits:
        """What the owner set for this person."""
        if self._own is None:
            self._own = await self._people.everyone()
        return self._own.get(person_id, PersonLimits())

    async def set_limits(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        """The owner's word on one person; audited."""
        await self._people.set(person_id, limits, actor)
        self.reread(person_id)

    def reread(self, *people: int) -> None:
        """These people were joined: read anew what is kept of them."""
        self._own = None
        self._accounts.reread(*people)

    def _now(self) -> BudgetLimits:
        """The limits; where they are others than before, what was spent is read anew: without a limit nothing was
        added up."""
        limits = self.limits
        if limits != self._known:
            self._known = limits
            self._accounts.forget()
        return limits

    async def _found(
        self, person_id: int, chat: ChatKey, limits: BudgetLimits, payer: PayerKind
    ) -> list[tuple[BudgetStatus, Account]]:
        ceilings = limits.ceilings(await self.limits_of(person_id), payer)
        opened = await self._accounts.opened(ceilings, person_id, chat, limits, payer)
        return [
            (BudgetStatus(ceiling, account.spent, account.held, account.unknown, stretch.end), account)
            for ceiling, (account, stretch) in zip(ceilings, opened, strict=True)
        ]

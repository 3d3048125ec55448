"""Tracks what each payer has spent in the current day or month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from routing.ports import Clock, SpendingStore
from routing.types.budgets import BudgetLimits, Ceiling, PayerKind, Period, PeriodKind, Scope, current
from routing.types.messages import ChatKey
from routing.types.usage import Payer

NOTHING = Decimal(0)
MAX_ACCOUNTS = 10_000
"""Maximum number of idle accounts in memory."""
IDLE = 3_600.0
"""Seconds after which an account is no longer in use by a turn."""
Key = tuple[Scope, PeriodKind, int | tuple[str, str] | None]


@dataclass(slots=True)
class Account:
    """Spending in the current `period` (None: not read yet) in US dollars, and the number of calls of unknown price in
    it. `held` is reserved for running calls and survives the end of the period; `used` is the last access in Unix
    seconds; `changes` counts the changes elsewhere, after which the sums are read again."""

    period: Period | None = None
    spent: Decimal = NOTHING
    unknown: int = 0
    held: Decimal = NOTHING
    used: float = 0.0
    changes: int = 0

    def forget(self) -> None:
        """Read the sums again; reservations stay."""
        self.period = None
        self.changes += 1


class Accounts:
    """Caches the sums of each period until another process changes the database. Calls are stored at the end of a turn,
    and until then only these sums contain them."""

    def __init__(self, spending: SpendingStore, clock: Clock) -> None:
        self._spending = spending
        self._clock = clock
        self._accounts: dict[Key, Account] = {}
        self._most = MAX_ACCOUNTS

    async def current(
        self,
        ceilings: Sequence[Ceiling],
        person_id: int,
        chat: ChatKey,
        limits: BudgetLimits,
        payer_kind: PayerKind = "known",
    ) -> list[tuple[Account, Period]]:
        """The account of each ceiling, with its current period."""
        now, assumed = self._clock(), limits.assumed
        periods = {period: current(period, now, limits.zone) for period in {each.period for each in ceilings}}
        wanted = []
        for each in ceilings:
            payer = _payer(each, person_id, chat, periods[each.period], payer_kind)
            key: Key = (each.scope, each.period, payer.person_id or payer.chat)
            account = self._accounts.setdefault(key, Account())
            account.used = now
            wanted.append((account, payer))
        if len(self._accounts) > self._most:
            self._accounts = {key: each for key, each in self._accounts.items() if each.held or each.used > now - IDLE}
            self._most = max(MAX_ACCOUNTS, 2 * len(self._accounts))
        unread = [(account, account.changes, payer) for account, payer in wanted if account.period != payer.period]
        if unread:
            sums = await self._spending.sums([payer for *_, payer in unread])
            for (account, changes, payer), spent in zip(unread, sums, strict=True):
                if account.period == payer.period:  # a concurrent turn read it, and may have spent since
                    continue
                estimated = assumed.cost(spent.unknown_tokens, 0) if assumed else NOTHING
                account.period = payer.period if changes == account.changes else None  # it may be stale
                account.unknown = spent.unknown
                account.spent = spent.dollars + estimated
        return [(account, payer.period) for account, payer in wanted]

    def forget(self) -> None:
        """Read all sums again; reservations of running calls stay."""
        for account in self._accounts.values():
            account.forget()

    def reread(self, *people: int) -> None:
        """Read the sums of these people again."""
        for (scope, _, payer), account in self._accounts.items():
            if scope == "person" and payer in people:
                account.forget()


def _payer(ceiling: Ceiling, person_id: int, chat: ChatKey, period: Period, kind: PayerKind) -> Payer:
    match ceiling.scope:
        case "person" if kind == "channel":
            return Payer(period, chat=(chat.platform, chat.chat_id), channels=True)
        case "person":
            return Payer(period, person_id=person_id)
        case "chat":
            return Payer(period, chat=(chat.platform, chat.chat_id))
        case "all":
            return Payer(period)

"""What every payer has spent in the day or month that it is now: read once, then kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from routing.ports import Clock, SpendingStore
from routing.types.budgets import BudgetLimits, Ceiling, PayerKind, Scope
from routing.types.messages import ChatKey
from routing.types.periods import Period, PeriodKind, current
from routing.types.usage import Payer

NOTHING = Decimal(0)
MOST_ACCOUNTS = 10_000
"""Kept, and those that were used a short while ago."""
IDLE = 3_600.0
"""Seconds after which no turn that uses an account is under way."""
Key = tuple[Scope, PeriodKind, int | tuple[str, str] | None]


@dataclass(slots=True)
class Account:
    """US dollars `spent` in a day or month (None: to be read), calls of unknown price among that; what is `held` for
    calls under way outlives the end of it; `used` is when it was asked for last (Unix seconds)."""

    stretch: Period | None = None
    spent: Decimal = NOTHING
    unknown: int = 0
    held: Decimal = NOTHING
    used: float = 0.0


class Accounts:
    """One process owns a database, so a sum is read once a day or month. A turn writes its calls down when it ends;
    until then only these sums know them: they are not read again in between."""

    def __init__(self, spending: SpendingStore, clock: Clock) -> None:
        self._spending = spending
        self._clock = clock
        self._accounts: dict[Key, Account] = {}
        self._most = MOST_ACCOUNTS

    async def opened(
        self,
        ceilings: Sequence[Ceiling],
        person_id: int,
        chat: ChatKey,
        limits: BudgetLimits,
        payer_kind: PayerKind = "known",
    ) -> list[tuple[Account, Period]]:
        """The account of each ceiling, and the day or month that it is now."""
        now, assumed = self._clock(), limits.assumed
        stretches = {period: current(period, now, limits.zone) for period in {each.period for each in ceilings}}
        wanted = []
        for each in ceilings:
            payer = _payer(each, person_id, chat, stretches[each.period], payer_kind)
            key: Key = (each.scope, each.period, payer.person_id or payer.chat)
            account = self._accounts.setdefault(key, Account())
            account.used = now
            wanted.append((account, payer))
        if len(self._accounts) > self._most:
            self._accounts = {key: each for key, each in self._accounts.items() if each.held or each.used > now - IDLE}
            self._most = max(MOST_ACCOUNTS, 2 * len(self._accounts))
        unread = [(account, payer) for account, payer in wanted if account.stretch != payer.stretch]
        if unread:
            sums = await self._spending.sums([payer for _, payer in unread])
            for (account, payer), spent in zip(unread, sums, strict=True):
                if account.stretch == payer.stretch:  # another turn was faster, and may have spent since
                    continue
                reckoned = assumed.cost(spent.unknown_tokens, 0) if assumed else NOTHING
                account.stretch, account.unknown = payer.stretch, spent.unknown
                account.spent = spent.dollars + reckoned
        return [(account, payer.stretch) for account, payer in wanted]

    def forget(self) -> None:
        """Read everything anew; what is held for calls under way stays."""
        for account in self._accounts.values():
            account.stretch = None

    def reread(self, *people: int) -> None:
        """Read anew what these people have spent."""
        for (scope, _, payer), account in self._accounts.items():
            if scope == "person" and payer in people:
                account.stretch = None


def _payer(ceiling: Ceiling, person_id: int, chat: ChatKey, stretch: Period, kind: PayerKind) -> Payer:
    match ceiling.scope:
        case "person" if kind == "channel":
            return Payer(stretch, chat=(chat.platform, chat.chat_id), channels=True)
        case "person":
            return Payer(stretch, person_id=person_id)
        case "chat":
            return Payer(stretch, chat=(chat.platform, chat.chat_id))
        case "all":
            return Payer(stretch)

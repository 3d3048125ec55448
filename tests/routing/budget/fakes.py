"""An in-memory ledger, a manual clock, and a budget that uses both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from routing.budget.budget import Budget
from routing.budget.reservation import Reservation
from routing.types.budgets import BudgetLimits, Period, PeriodKind, PersonLimits, Reached, Scope
from routing.types.llm import Usage
from routing.types.messages import ChatKey
from routing.types.usage import Day, Payer, PersonSpending, Spending, Spent, TierSpending

HOME, TOPIC, OTHER = ChatKey("telegram", "1"), ChatKey("telegram", "1", "7"), ChatKey("discord", "1")
ANN, BEN = 1, 2
NOON = 1_795_003_200.0
"""2026-11-18, 12:00 UTC."""


@dataclass(slots=True)
class FakeSpendingStore:
    """The recorded usage. `gate` holds back the answer to a query after it was computed; `arrived` counts the waiting
    queries."""

    rows: list[tuple[float, int, ChatKey, Decimal | None, int]] = field(default_factory=list)
    asked: int = 0
    gate: asyncio.Event | None = None
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    async def sums(self, payers: Sequence[Payer]) -> tuple[Spent, ...]:
        self.asked += 1
        found = tuple(self._sum(payer) for payer in payers)
        if self.gate is not None:
            self.arrived.release()
            await self.gate.wait()
        return found

    def _sum(self, payer: Payer) -> Spent:
        rows = [
            row
            for row in self.rows
            if payer.period.start <= row[0] < payer.period.end
            and payer.person_id in (None, row[1])
            and payer.chat in (None, (row[2].platform, row[2].chat_id))
        ]
        unknown = [row[4] for row in rows if row[3] is None]
        return Spent(sum((row[3] or Decimal(0) for row in rows), Decimal(0)), len(unknown), sum(unknown))

    async def by_person(self, since: float = 0.0, limit: int | None = None) -> tuple[PersonSpending, ...]:
        raise NotImplementedError

    async def of_people(self, people: Sequence[int], since: float = 0.0) -> Mapping[int, Spending]:
        raise NotImplementedError

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        raise NotImplementedError

    async def by_day(self, days: Sequence[Period], person_id: int | None = None) -> tuple[Day, ...]:
        raise NotImplementedError


@dataclass(slots=True)
class FakeBudgetStore:
    """The limits of single people."""

    limits: dict[int, PersonLimits] = field(default_factory=dict)

    async def everyone(self) -> Mapping[int, PersonLimits]:
        return dict(self.limits)

    async def set(self, person_id: int, limits: PersonLimits, actor: str) -> None:
        self.limits[person_id] = limits


class BudgetFixture:
    """A budget and its dependencies."""

    def __init__(self, limits: BudgetLimits) -> None:
        self.now = NOON
        self.store, self.own, self.limits = FakeSpendingStore(), FakeBudgetStore(), limits
        self.budget = self.restarted()

    def restarted(self) -> Budget:
        return Budget(lambda: self.limits, self.store, self.own, lambda: self.now)

    async def held(self, dollars: str | None, person: int = ANN, chat: ChatKey = HOME) -> Reservation:
        """A reservation that must succeed."""
        found = await self.ask(dollars, person, chat)
        assert isinstance(found, Reservation)
        return found

    async def refused(self, dollars: str | None, person: int = ANN, chat: ChatKey = HOME) -> Reached:
        """A reservation that must be refused."""
        found = await self.ask(dollars, person, chat)
        assert isinstance(found, Reached)
        return found

    async def ask(self, dollars: str | None, person: int, chat: ChatKey) -> Reservation | Reached:
        return await self.budget.reserve(person, chat, None if dollars is None else Decimal(dollars))

    async def spend(self, dollars: str, person: int = ANN, chat: ChatKey = HOME) -> None:
        """A call that was made and recorded."""
        (await self.held(dollars, person, chat)).settle(cost(dollars))
        self.store.rows.append((self.now, person, chat, Decimal(dollars), 0))


def cost(dollars: str | None, tokens: int = 0) -> Usage:
    return Usage(tokens, 0, cost=None if dollars is None else Decimal(dollars))


def limits(**more: Any) -> BudgetLimits:
    """`person_day="1"`, or any other field of the limits."""
    found: dict[tuple[Scope, PeriodKind], Decimal] = {}
    scopes: tuple[Scope, ...] = ("person", "chat", "all")
    periods: tuple[PeriodKind, ...] = ("day", "month")
    for scope in scopes:
        for period in periods:
            value = more.pop(f"{scope}_{period}", None)
            if value is not None:
                found[scope, period] = Decimal(str(value))
    return BudgetLimits(MappingProxyType(found), **more)

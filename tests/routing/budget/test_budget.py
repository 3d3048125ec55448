"""Limits hold before a call, also for concurrent calls; a reservation is released or replaced by the actual cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from routing.budget.accounts import NOTHING
from routing.budget.budget import Budget
from routing.budget.reservation import Reservation
from routing.types.budgets import PersonLimits, Reached
from tests.routing.budget.fakes import ANN, BEN, HOME, NOON, OTHER, TOPIC, BudgetFixture, cost, limits

MIDNIGHT = NOON + 12 * 3600.0
NEXT_MONTH = NOON + 12.5 * 86_400.0


async def test_without_limits_nothing_is_read_or_refused() -> None:
    fixture = BudgetFixture(limits())
    (await fixture.held("1000")).settle(cost("1000"))
    await fixture.held(None)
    assert fixture.store.asked == 0
    assert await fixture.budget.statuses(ANN, HOME) == ()


async def test_two_turns_cannot_both_use_the_last_budget() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    fixture.store.gate = asyncio.Event()
    turns = [asyncio.create_task(fixture.ask("0.6", ANN, HOME)) for _ in range(20)]
    for _ in turns:  # all of them have looked at the books before one of them hears what is in there
        await fixture.store.arrived.acquire()
    fixture.store.gate.set()
    found = await asyncio.gather(*turns)
    assert [type(each) for each in found].count(Reservation) == 1
    refused = [each for each in found if isinstance(each, Reached)]
    assert len(refused) == 19
    assert all(each.busy and each.status.held == Decimal("0.6") for each in refused)


async def test_a_late_ledger_read_loses_no_reservation() -> None:
    """One turn reads, spends and writes while another still waits for the same sum."""
    fixture = BudgetFixture(limits(person_day=1))
    fixture.store.gate = asyncio.Event()
    slow = asyncio.create_task(fixture.ask("0.5", ANN, HOME))
    await fixture.store.arrived.acquire()
    gate, fixture.store.gate = fixture.store.gate, None
    await fixture.spend("0.8")
    gate.set()
    assert isinstance(await slow, Reached)


@pytest.mark.parametrize("period", ["day", "month"])
@pytest.mark.parametrize("scope", ["person", "chat", "all"])
async def test_each_limit_counts_its_own_scope(scope: str, period: str) -> None:
    fixture = BudgetFixture(limits(**{f"{scope}_{period}": 1}))
    await fixture.spend("0.9")
    for person, chat in ((ANN, HOME), (BEN, HOME), (ANN, OTHER), (BEN, OTHER), (ANN, TOPIC), (BEN, TOPIC)):
        paid = {"person": person == ANN, "chat": chat != OTHER, "all": True}[scope]
        found = await fixture.ask("0.2", person, chat)
        assert isinstance(found, Reached if paid else Reservation), (person, chat)
        if isinstance(found, Reservation):
            found.release()
    assert isinstance(await fixture.ask("0.1", ANN, HOME), Reservation), "to the last cent"


async def test_a_reservation_affects_and_releases_every_limit() -> None:
    fixture = BudgetFixture(limits(person_day=1, chat_day=1, all_day=1, person_month=1, chat_month=1, all_month=1))
    held = await fixture.held("0.7")
    assert [each.held for each in await fixture.budget.statuses(ANN, HOME)] == [Decimal("0.7")] * 6
    held.settle(cost("0.3"))
    statuses = await fixture.budget.statuses(ANN, HOME)
    assert [(each.spent, each.held, each.left) for each in statuses] == [(Decimal("0.3"), NOTHING, Decimal("0.7"))] * 6
    held.settle(cost("0.3"))
    held.release()
    assert await fixture.budget.statuses(ANN, HOME) == statuses, "settled once"


async def test_a_failed_or_cancelled_turn_releases_its_reservation() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    with pytest.raises(ZeroDivisionError), await fixture.held("1"):
        raise ZeroDivisionError
    begun, never = asyncio.Event(), asyncio.Event()

    async def call() -> None:
        with await fixture.held("1"):
            begun.set()
            await never.wait()

    turn = asyncio.create_task(call())
    await begun.wait()
    await fixture.refused("0.1")
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    with await fixture.held("0.5") as held:
        held.release()
    assert (await fixture.budget.statuses(ANN, HOME))[0].held == 0, "given back once"
    with await fixture.held("1") as held:
        held.settle(cost("0.25"))
    assert (await fixture.budget.statuses(ANN, HOME))[0].left == Decimal("0.75")


async def test_the_ledger_is_read_once_per_day_and_after_a_restart() -> None:
    fixture = BudgetFixture(limits(person_day=1, all_month=10))
    for _ in range(4):
        await fixture.spend("0.2")
    assert fixture.store.asked == 1
    held = await fixture.held("0.2")
    fixture.budget = fixture.restarted()
    assert held
    assert (await fixture.held("0.2")).reached is None, "what was reserved went with the process"
    await fixture.refused("0.1")


async def test_limits_reset_with_the_day_or_month() -> None:
    fixture = BudgetFixture(limits(person_day=1, person_month=2))
    await fixture.spend("1")
    found = await fixture.refused("0.5")
    assert (found.status.ceiling.period, found.status.resets_at) == ("day", MIDNIGHT)
    fixture.now = MIDNIGHT - 1
    await fixture.refused("0.5")
    fixture.now = MIDNIGHT
    await fixture.spend("1")
    found = await fixture.refused("0.5")
    assert (found.status.ceiling.period, found.status.resets_at) == ("month", NEXT_MONTH), "the last to open"
    fixture.now = NEXT_MONTH
    await fixture.held("1")


async def test_days_are_in_the_owners_time_zone() -> None:
    fixture = BudgetFixture(limits(person_day=1, zone=ZoneInfo("Asia/Tokyo")))
    await fixture.spend("1")
    assert (await fixture.refused("1")).status.resets_at == MIDNIGHT - 9 * 3600


async def test_reservations_survive_midnight() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    held = await fixture.held("0.7")
    fixture.now = MIDNIGHT
    await fixture.refused("0.5")
    held.settle(cost("0.6"))
    assert (await fixture.budget.statuses(ANN, HOME))[0].spent == Decimal("0.6"), "it ended today"


async def test_the_refusal_names_the_limit() -> None:
    fixture = BudgetFixture(limits(person_day=1, chat_day=5))
    await fixture.spend("0.25")
    found = await fixture.refused("0.8")
    assert (found.status.ceiling.scope, found.status.left, found.needs) == (
        "person",
        Decimal("0.75"),
        Decimal("0.8"),
    )
    assert not found.never
    assert not found.busy
    found = await fixture.refused("1.5")
    assert found.never, "the call alone is above the limit"
    held = await fixture.held("0.5")
    found = await fixture.refused("0.6")
    assert found.busy
    assert (found.status.held, found.status.left) == (Decimal("0.5"), Decimal("0.25"))
    held.release()
    assert isinstance(await fixture.ask("0.6", ANN, HOME), Reservation)


async def test_a_free_call_always_passes_and_one_of_unknown_price_until_nothing_is_left() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    (await fixture.held(None)).settle(cost(None, 500))
    (await fixture.held("0.9")).settle(cost("1.4"))
    await fixture.held("0")
    found = await fixture.refused(None)
    assert (found.status.unknown, found.status.spent, found.needs, found.never) == (1, Decimal("1.4"), None, False)
    assert found.status.left == 0


async def test_unknown_prices_may_be_estimated() -> None:
    fixture = BudgetFixture(limits(person_day=1, unknown=Decimal(100)))
    fixture.store.rows.append((NOON - 60, ANN, HOME, None, 4_000))
    assert (await fixture.budget.statuses(ANN, HOME))[0].spent == Decimal("0.4")
    (await fixture.held("0.2")).settle(cost(None, 3_000))
    status = (await fixture.budget.statuses(ANN, HOME))[0]
    assert (status.spent, status.unknown, status.held) == (Decimal("0.7"), 2, NOTHING)
    await fixture.refused("0.4")


async def test_an_uncounted_call_costs_its_estimate() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    (await fixture.held("0.6")).settle(None)
    status = (await fixture.budget.statuses(ANN, HOME))[0]
    assert (status.spent, status.unknown) == (Decimal("0.6"), 1)


async def test_warn_mode_allows_calls_at_the_limit() -> None:
    fixture = BudgetFixture(limits(person_day=1, at_limit="cheapest"))
    await fixture.spend("1")
    await fixture.refused("0.1")
    found = await fixture.budget.reserve(ANN, HOME, Decimal("0.1"), force=True)
    assert isinstance(found, Reservation)
    assert found.reached is not None
    found.settle(cost("0.1"))
    assert (await fixture.budget.statuses(ANN, HOME))[0].spent == Decimal("1.1")
    fixture.limits = limits(person_day=1, at_limit="warn")
    warned = await fixture.held("0.1")
    assert warned.reached is not None
    assert warned.reached.status.ceiling.dollars == 1
    assert (await fixture.held("0.1", BEN)).reached is None


async def test_a_persons_own_limit() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    await fixture.refused("1.5")
    await fixture.budget.set_limits(ANN, PersonLimits(daily=Decimal(2)), "owner")
    held = await fixture.held("1.5")
    await fixture.refused("1.5", BEN)
    assert await fixture.budget.limits_of(ANN) == PersonLimits(daily=Decimal(2))
    held.release()
    await fixture.budget.set_limits(ANN, PersonLimits(monthly=Decimal(0)), "owner")
    found = await fixture.refused("0.5")
    assert found.never
    assert found.status.ceiling.own
    assert found.status.ceiling.period == "month"
    await fixture.held("0")


async def test_linked_people_are_read_again() -> None:
    fixture = BudgetFixture(limits(person_day=1, all_day=9))
    await fixture.spend("0.5", ANN)
    await fixture.spend("0.4", BEN)
    held = await fixture.held("0.05", ANN)
    fixture.store.rows = [(at, ANN, chat, dollars, tokens) for at, _, chat, dollars, tokens in fixture.store.rows]
    fixture.own.limits[ANN] = PersonLimits(daily=Decimal(2))
    fixture.budget.reread(ANN, BEN)
    status = (await fixture.budget.statuses(ANN, HOME))[0]
    assert (status.spent, status.held, status.ceiling.dollars) == (Decimal("0.9"), Decimal("0.05"), Decimal(2))
    held.release()
    assert (await fixture.budget.statuses(ANN, HOME))[0].held == 0


async def test_a_changed_configuration_applies_at_once() -> None:
    fixture = BudgetFixture(limits(person_day=1))
    await fixture.spend("0.5")
    fixture.limits = limits(person_day="0.4", chat_day=9)
    assert [each.spent for each in await fixture.budget.statuses(ANN, HOME)] == [Decimal("0.5")] * 2
    await fixture.refused("0.1")


@pytest.mark.parametrize("change", [Budget.forget, lambda budget: budget.reread(ANN)], ids=["elsewhere", "merged"])
async def test_sums_that_were_read_before_a_change_are_read_again(change: Callable[[Budget], None]) -> None:
    fixture = BudgetFixture(limits(person_day=1))
    fixture.store.gate = asyncio.Event()
    reading = asyncio.create_task(fixture.budget.statuses(ANN, HOME))
    await fixture.store.arrived.acquire()
    fixture.store.rows.append((fixture.now, ANN, HOME, Decimal("0.5"), 0))
    change(fixture.budget)
    fixture.store.gate.set()
    await reading
    assert (await fixture.budget.statuses(ANN, HOME))[0].spent == Decimal("0.5")

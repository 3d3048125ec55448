"""Sums of spending and turns, and budget overrides, on SQLite and PostgreSQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from routing.budget.budget import Budget
from routing.budget.guard import UNCOUNTED_TOKENS
from routing.budget.reservation import Reservation
from routing.types.budgets import BudgetLimits, Period, PersonLimits, Reached, current, days
from routing.types.history import TurnFacts, TurnRecord
from routing.types.llm import Usage
from routing.types.messages import ChatKey
from routing.types.tiers import Tier
from routing.types.usage import CallRecord, Payer, Rating, Spent
from storage.stores import Stores
from tests.fakes import ManualClock
from tests.storage.samples import BEN, HOME, OTHER, TOPIC, record

CENT = Decimal("0.01")
UTC = ZoneInfo("UTC")
HOUR, DAY = 3600.0, 86_400.0


def paid(cost: Decimal | None, into: int = 100, out: int = 20) -> Usage:
    return Usage(into, out, 10, cost)


@pytest.fixture
async def ben(stores: Stores) -> int:
    return (await stores.people.admit(BEN, "Ben", "user", "t")).id


async def spend(stores: Stores, person: int, chat: ChatKey, usage: Usage | None, **more: Any) -> None:
    here = await stores.history.current(chat)
    await stores.ledger.finish([], [], record(here.id, person, "q", "a", usage=usage, **more))


async def test_sums_by_person_chat_and_in_total(stores: Stores, clock: ManualClock, ann: int, ben: int) -> None:
    now = clock.now
    clock.now = now - HOUR
    await spend(stores, ann, HOME, paid(CENT))
    clock.now = now
    await spend(stores, ann, HOME, paid(CENT))
    await spend(stores, ann, OTHER, paid(2 * CENT))
    await spend(stores, ben, TOPIC, paid(None, 300, 30))
    await spend(stores, ben, TOPIC, None)
    when = Period(current("day", now, UTC).date, now, now + DAY)
    places = [("telegram", "1"), ("telegram", "9"), ("discord", "9")]
    payers = [Payer(when, person_id=ann), Payer(when, person_id=ben), *(Payer(when, chat=each) for each in places)]
    before = Period(when.date, 0.0, now)
    unknown = 330 + UNCOUNTED_TOKENS
    assert await stores.spending.sums([*payers, Payer(when), Payer(before)]) == (
        Spent(3 * CENT), Spent(Decimal(0), 2, unknown),
        Spent(CENT), Spent(2 * CENT, 2, unknown), Spent(Decimal(0)),
        Spent(3 * CENT, 2, unknown), Spent(CENT),
    )  # fmt: skip
    assert await stores.spending.sums([]) == ()


async def test_money_is_exact_to_the_nano_dollar(stores: Stores, ann: int) -> None:
    for _ in range(10):
        await spend(stores, ann, HOME, paid(Decimal("0.100000001")))
    (found,) = await stores.spending.sums([Payer(Period(current("day", 0, UTC).date, 0.0, 2e9))])
    assert found.dollars == Decimal("1.00000001")


async def test_spending_is_listed_by_person_highest_first(
    stores: Stores, clock: ManualClock, ann: int, ben: int
) -> None:
    await spend(stores, ann, HOME, paid(5 * CENT))
    await spend(stores, ben, HOME, paid(CENT), model="x/y")
    await spend(stores, ben, HOME, paid(CENT))
    await spend(stores, ben, HOME, paid(None))
    found = await stores.spending.by_person()
    assert [(each.person_id, each.name) for each in found] == [(ann, "Ann"), (ben, "Ben")]
    spent = found[1].spent
    assert (spent.calls, spent.input_tokens, spent.output_tokens, spent.cached_tokens) == (3, 300, 60, 30)
    assert (spent.cost, spent.unknown) == (2 * CENT, 1)
    assert await stores.spending.by_person(clock.now + 1) == ()


async def test_spending_by_tier_is_in_tier_order(stores: Stores, ann: int, ben: int) -> None:
    for second in range(1, 21):
        await spend(stores, ann, HOME, paid(CENT), tier="smart", seconds=float(second))
    await spend(stores, ben, HOME, None, tier="balanced", seconds=3.0)
    balanced, smart = await stores.spending.by_tier()
    assert (balanced.tier, balanced.spent.unknown) == ("balanced", 1)
    assert smart.tier == "smart"
    assert (smart.spent.calls, smart.spent.cost, smart.spent.output_tokens) == (20, 20 * CENT, 400)
    assert [each.tier for each in await stores.spending.by_tier(person_id=ben)] == ["balanced"]
    assert await stores.spending.by_tier(since=2e9) == ()


async def test_spending_by_day_in_a_time_zone(stores: Stores, clock: ManualClock, ann: int, ben: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    clock.now = 1_774_738_800.0 + 12 * HOUR  # 2026-03-29 in Berlin, a day of 23 hours
    asked = days(clock.now, 3, zone)
    for at in (asked[0].start - 1, asked[0].start, asked[1].end - 1, asked[2].start, asked[2].end - 1):
        clock.now = at
        await spend(stores, ann, HOME, paid(CENT))
    await spend(stores, ann, HOME, paid(None), model="x/y")
    await spend(stores, ben, HOME, paid(CENT))
    found = await stores.spending.by_day(asked, ann)
    assert [str(day.date) for day in found] == ["2026-03-27", "2026-03-28", "2026-03-29"]
    assert [[(each.model, each.calls, each.cost, each.unknown) for each in day.models] for day in found] == [
        [("openai/m", 1, CENT, 0)], [("openai/m", 1, CENT, 0)], [("openai/m", 2, 2 * CENT, 0), ("x/y", 1, 0, 1)],
    ]  # fmt: skip
    assert (await stores.spending.by_day(asked))[2].models[0].calls == 3
    assert [day.models for day in await stores.spending.by_day(days(0.0, 2, zone))] == [(), ()]
    assert await stores.spending.by_day(()) == ()


async def test_budget_overrides_are_set_changed_and_removed(stores: Stores, ann: int, ben: int) -> None:
    budgets = stores.budgets
    await budgets.set(ann, PersonLimits(Decimal("2.50")), "telegram:1")
    await budgets.set(ben, PersonLimits(monthly=Decimal(0)), "telegram:1")
    await budgets.set(ann, PersonLimits(Decimal("0.000000001"), Decimal(40)), "telegram:1")
    assert await budgets.everyone() == {
        ann: PersonLimits(Decimal("0.000000001"), Decimal(40)), ben: PersonLimits(None, Decimal(0)),
    }  # fmt: skip
    await budgets.set(ann, PersonLimits(), "telegram:1")
    assert list(await budgets.everyone()) == [ben]
    assert [(row.actor, row.action, row.subject, row.change) for row in await stores.people.audit_log(4)] == [
        ("telegram:1", "budget", f"person {ann}", "as everyone"),
        ("telegram:1", "budget", f"person {ann}", "$1E-9 a day, $40 a month"),
        ("telegram:1", "budget", f"person {ben}", "$0 a month"),
        ("telegram:1", "budget", f"person {ann}", "$2.50 a day"),
    ]


async def turn(stores: Stores, person: int, turn_id: str, facts: TurnFacts, *costs: Decimal | None) -> None:
    here = await stores.history.current(HOME)
    calls = tuple(CallRecord(facts.tier, "a/x", paid(cost), 1.0) for cost in costs)
    await stores.ledger.finish([], [], TurnRecord(turn_id, here.id, person, "q", calls=calls, facts=facts))


def went(tier: Tier, seconds: float, model: str = "a/x", **more: Any) -> TurnFacts:
    return TurnFacts(tier, "default", model, seconds, **more)


async def test_turns_are_counted_by_tier_and_model(stores: Stores, clock: ManualClock, ann: int, ben: int) -> None:
    await turn(stores, ann, "old", went("smart", 99.0), CENT)
    clock.now += DAY
    for second in range(1, 20):
        await turn(stores, ann, f"t{second}", went("smart", float(second), first_token_seconds=1.0), CENT, CENT)
    more = {"failed": ("a/x", "b/y"), "fallback": True, "timed_out": True, "escalated": True}
    await turn(stores, ben, "f", went("smart", 0.5, "c/z", first_token_seconds=2.0, **more), CENT, None)
    await turn(stores, ben, "none", went("balanced", 4.0, "", timed_out=True))
    ratings: list[tuple[str, int, Rating | None]] = [("t1", ann, 1), ("t2", ann, 1), ("t2", ann, -1), ("f", ben, -1)]
    for turn_id, person, rating in [*ratings, ("t3", ann, 1), ("t3", ann, None)]:
        assert await stores.turns.rate(turn_id, person, rating)
    balanced, smart = await stores.turns.by_tier(clock.now)
    assert (balanced.tier, balanced.turns, balanced.unanswered, balanced.timeouts) == ("balanced", 1, 1, 1)
    assert balanced.first is None
    assert (balanced.dollars, balanced.unknown) == (Decimal(0), 0)
    assert (smart.tier, smart.model, smart.turns, smart.unanswered, smart.p50, smart.p95) == (
        "smart", "", 20, 0, 9.0, 18.0,
    )  # fmt: skip
    assert (smart.fallbacks, smart.timeouts, smart.escalations, smart.liked, smart.disliked) == (1, 1, 1, 1, 2)
    assert smart.first == pytest.approx(1.05)
    assert (smart.dollars, smart.unknown) == (39 * CENT, 1)
    models = [*balanced.models, *smart.models]
    assert [(each.tier, each.model, each.turns, each.disliked, each.p50) for each in models] == [
        ("balanced", "", 1, 0, 4.0), ("smart", "a/x", 19, 1, 10.0), ("smart", "c/z", 1, 1, 0.5),
    ]  # fmt: skip
    mine = [model for tier in await stores.turns.by_tier(person_id=ben) for model in tier.models]
    assert [(each.model, each.turns, each.disliked, each.p95) for each in mine] == [("", 1, 0, 4.0), ("c/z", 1, 1, 0.5)]
    assert (await stores.turns.by_tier())[1].turns == 21
    assert await stores.turns.by_tier(clock.now + 1) == ()


async def test_only_the_asker_may_rate_a_turn(stores: Stores, ann: int, ben: int) -> None:
    await turn(stores, ann, "t", went("smart", 1.0))
    assert not await stores.turns.rate("t", ben, -1)
    assert not await stores.turns.rate("u", ann, -1)
    assert (await stores.turns.by_tier())[0].disliked == 0


async def test_recent_problems_count_the_newest_turns(stores: Stores, ann: int) -> None:
    assert (await stores.turns.newest(50)).turns == 0
    for number in range(6):
        facts = went("smart", 1.0, fallback=number < 5, timed_out=number == 5, escalated=number in (0, 4))
        await turn(stores, ann, f"t{number}", facts)
    found = await stores.turns.newest(4)
    assert (found.turns, found.fallbacks, found.timeouts, found.escalations) == (4, 3, 1, 1)


async def test_a_turn_of_a_forgotten_person_is_not_stored(stores: Stores, ann: int) -> None:
    await stores.people.forget(ann, "t")
    await turn(stores, ann, "t", went("smart", 1.0), CENT)
    assert await stores.turns.by_tier() == ()
    assert await stores.spending.by_person() == ()


async def test_a_budget_holds_across_a_restart(stores: Stores, clock: ManualClock, ann: int, ben: int) -> None:
    limits = BudgetLimits({("person", "day"): Decimal("0.05"), ("chat", "month"): Decimal("0.06")})

    def opened() -> Budget:
        return Budget(lambda: limits, stores.spending, stores.budgets, clock)

    budget = opened()
    for _ in range(4):
        with await held(budget, ann) as reservation:
            reservation.settle(paid(CENT))
            await spend(stores, ann, HOME, paid(CENT))
    await held(budget, ann)
    assert isinstance(await budget.reserve(ann, HOME, CENT), Reached)
    again = opened()
    await held(again, ann)
    found = await again.reserve(ann, HOME, CENT)
    assert isinstance(found, Reached)
    assert found.status.spent == 4 * CENT
    await held(again, ben)
    found = await again.reserve(ben, HOME, CENT)
    assert isinstance(found, Reached)
    assert found.status.ceiling.scope == "chat"
    await again.set_limits(ann, PersonLimits(daily=Decimal(1)), "t")
    assert isinstance(await again.reserve(ann, OTHER, CENT), Reservation)


async def held(budget: Budget, person: int) -> Reservation:
    found = await budget.reserve(person, HOME, CENT)
    assert isinstance(found, Reservation)
    return found

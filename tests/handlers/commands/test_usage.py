"""/usage: one's own, limits, tiers, and everyone's for owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from PIL import Image

from handlers.commands.usage import UsageCommand
from handlers.context import CommandContext
from handlers.languages import Say
from handlers.replies.costs import dollars
from routing.budget.budget import Budget
from routing.errors import Refused
from routing.types.budgets import Period
from routing.types.messages import UserKey
from routing.types.people import Person
from routing.types.usage import (
    Day,
    PersonSpending,
    Rating,
    RecentProblems,
    Spending,
    TierSpending,
    TurnReport,
)
from tests.handlers.contexts import asked
from tests.routing.budget.fakes import ANN, BEN, NOON, OTHER, BudgetFixture, FakeSpendingStore, limits

DAY = 86_400.0
SPENT = Spending("a/x", 3, 300, 60, 30, Decimal("0.0123"), 1)
DEAR = Spending("b/y", 2, 200, 40, 0, Decimal("1.5"), 0)
FREE = Spending("house/z", 1, 10, 20, 0, Decimal(0), 1)
SMART = TurnReport("smart", "", 20, 5, 1, 2, 0, 9.0, 18.4, 1.05, Decimal("0.39"), 1, 3, 2)


class Kept(FakeSpendingStore):
    """Fixed answers; records the queries."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: tuple[Spending, ...] = (SPENT, DEAR)
        self.people: tuple[PersonSpending, ...] = (
            PersonSpending(BEN, "Ben`s\nhat", DEAR),
            PersonSpending(ANN, "Ann", SPENT),
        )
        self.tiers = (TierSpending("balanced", SPENT), TierSpending("deep", FREE))
        models = (replace(SMART, model="a/x", liked=0), replace(SMART, model="", first=None, dollars=Decimal(0)))
        self.reports: tuple[TurnReport, ...] = (replace(SMART, models=models),)
        self.questions: list[tuple[str, float, int | None]] = []
        self.drawn: list[Period] = []

    async def by_model(
        self, *, person_id: int | None = None, conversation_id: int | None = None, since: float = 0.0
    ) -> tuple[Spending, ...]:
        self.questions.append(("models", NOON - since, person_id))
        return self.spent

    async def seconds(self, model: str, limit: int) -> tuple[float, ...]:
        return ()

    async def by_person(self, since: float = 0.0, limit: int | None = None) -> tuple[PersonSpending, ...]:
        self.questions.append(("people", NOON - since, None))
        return self.people[:limit]

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TierSpending, ...]:
        return self.tiers

    async def by_day(self, days: Sequence[Period], person_id: int | None = None) -> tuple[Day, ...]:
        self.drawn = list(days)
        self.questions.append(("days", len(days), person_id))
        return tuple(Day(each.date, self.spent) for each in days)


class Turns:
    """Turn statistics; queries are recorded in the same list."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def rate(self, turn_id: str, person_id: int, rating: Rating | None) -> bool:
        return False

    async def by_tier(self, since: float = 0.0, person_id: int | None = None) -> tuple[TurnReport, ...]:
        self._kept.questions.append(("turns", NOON - since, person_id))
        return self._kept.reports

    async def newest(self, limit: int) -> RecentProblems:
        return RecentProblems(0, 0, 0, 0)


class People:
    """People by account."""

    async def everyone(self) -> tuple[tuple[Person, tuple[UserKey, ...]], ...]:
        return ((Person(ANN, "owner", ""), (UserKey("telegram", "1001"), UserKey("discord", "7"))),)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def command(kept: Kept, **ceilings: object) -> UsageCommand:
    fixture = BudgetFixture(limits(zone=ZoneInfo("Pacific/Auckland"), **ceilings))
    budget = Budget(lambda: fixture.limits, kept, fixture.own, lambda: NOON)
    return UsageCommand(kept, kept, Turns(kept), cast(Any, People()), budget, lambda: NOON)


def usage(words: str = "", **who: Any) -> CommandContext:
    return asked(f"/usage {words}".strip(), **who)


async def test_own_usage_by_model_and_tier(kept: Kept) -> None:
    reply = await command(kept)(usage("7D", role="user"))
    assert reply.text == (
        "**Last 7 days**\n\n"
        "- `a/x`: 3 calls · 300 in (30 cached) / 60 out · $0.0123 (one unpriced)\n"
        "- `b/y`: 2 calls · 200 in / 40 out · $1.50\n\n"
        "balanced: 3 calls · $0.0123 (one unpriced)  \n"
        "deep: 1 call · price unknown\n\n"
        "Total: 5 calls · 500 in (30 cached) / 100 out · $1.51 (one unpriced)"
    )
    assert kept.questions == [("models", 7 * DAY, 1), ("days", 7, 1)]


@pytest.mark.parametrize(("words", "since", "bars"), [("", 1, 7), ("3d", 3, 7), ("30", 30, 30), ("365d", 365, 90)])
async def test_the_chart_has_a_bar_per_day(kept: Kept, words: str, since: int, bars: int) -> None:
    reply = await command(kept)(usage(words))
    assert kept.questions == [("models", since * DAY, 1), ("days", bars, 1)]
    assert str(kept.drawn[-1].date) == "2026-11-19", "days are in the limits' zone, where it is tomorrow"
    assert reply.picture is not None
    assert reply.picture.name == f"usage-{bars}d.png"
    with Image.open(BytesIO(reply.picture.data)) as image:
        image.load()
        assert (image.format, image.width) == ("PNG", 1200)


async def test_without_usage_there_is_no_chart(kept: Kept) -> None:
    kept.spent = ()
    reply = await command(kept, person_day="2")(usage())
    assert reply.text == "Last 24 hours: nothing yet.\n\nToday: $0.00 of $2.00"
    assert reply.picture is None


async def test_the_remaining_budget_of_every_limit(kept: Kept) -> None:
    here = usage().message.chat
    kept.rows = [(NOON, 1, here, Decimal("0.1234"), 0), (NOON, 1, here, None, 9), (NOON, BEN, here, Decimal(7), 0)]
    kept.rows += [(NOON, BEN, OTHER, Decimal(70), 0)]
    several = command(kept, person_day=2, person_month="0.1", chat_day=50, chat_month=60, all_day=80, all_month=70)
    assert (await several(usage())).text.splitlines()[-1] == (
        "Today: $0.12 of $2.00 (one unpriced)"
        " · ⚠️ This month: $0.12 of $0.10 (one unpriced)"
        " · This chat today: $7.12 of $50.00 (one unpriced)"
        " · This chat this month: $7.12 of $60.00 (one unpriced)"
        " · Everyone today: $77.12 of $80.00 (one unpriced)"
        " · ⚠️ Everyone this month: $77.12 of $70.00 (one unpriced)"
    )


async def test_an_owner_sees_everyone_with_reached_limits(kept: Kept) -> None:
    kept.rows = [(NOON, BEN, OTHER, Decimal("1.5"), 0), (NOON, ANN, OTHER, Decimal("0.1"), 0)]
    reply = await command(kept, person_day="1.5", chat_day=9, all_month=40)(usage("all 30d"))
    assert reply.text == (
        "**Last 30 days**\n\n"
        "- `Ben's hat`: 2 calls · 200 in / 40 out · $1.50 · ⚠️ Today: $1.50 of $1.50\n"
        "- `Ann`: 3 calls · 300 in (30 cached) / 60 out · $0.0123 (one unpriced)\n\n"
        "Total: 5 calls · 500 in (30 cached) / 100 out · $1.51 (one unpriced)\n\n"
        "Everyone this month: $1.60 of $40.00"
    )
    assert kept.questions == [("people", 30 * DAY, None), ("days", 30, None)]
    assert reply.picture is not None
    kept.people = (PersonSpending(ANN, "", SPENT), PersonSpending(BEN, "", SPENT))
    rows = (await command(kept)(usage("all"))).text.splitlines()
    assert rows[2].startswith("- `telegram:1001`: 3 calls")
    assert rows[3].startswith("- `?`: 3 calls")
    kept.people = ()
    assert (await command(kept)(usage("all"))).text == "Last 24 hours: nothing yet."


async def test_other_peoples_usage_is_for_owners_in_private(kept: Kept) -> None:
    for role in ("admin", "user", "guest"):
        with pytest.raises(Refused, match="Only an owner"):
            await command(kept)(usage("all", role=role))
    with pytest.raises(Refused, match="in a group"):
        await command(kept)(usage("ALL 7d", private=False))
    assert kept.questions == []


async def test_usage_by_tier_and_model(kept: Kept) -> None:
    reply = await command(kept)(usage("tiers"))
    shares = "fallback 25 % · timeout 5 % · escalated 10 %"
    assert reply.text == (
        "**Last 7 days, everyone's turns**\n\n"
        f"**smart**: 20× · p50 9.0 s · p95 18 s · first token 1.1 s · {shares}"
        " · $0.39 (one unpriced) · 👍 3 · 👎 2\n\n"
        f"- `a/x`: 20× · p50 9.0 s · p95 18 s · first token 1.1 s · {shares}"
        " · $0.39 (one unpriced) · 👎 2\n"
        f"- no answer: 20× · p50 9.0 s · p95 18 s · {shares} · price unknown · 👍 3 · 👎 2"
    )
    assert kept.questions == [("turns", 7 * DAY, None)]
    assert reply.picture is None


@pytest.mark.parametrize(("role", "private"), [("user", True), ("admin", True), ("owner", False)])
async def test_people_without_access_to_all_turns_see_their_own(kept: Kept, role: str, private: bool) -> None:
    reply = await command(kept)(usage("tiers 30d", role=role, private=private))
    assert reply.text.startswith("**Last 30 days, your own turns**")
    assert kept.questions == [("turns", 30 * DAY, 1)]
    kept.reports = ()
    reply = await command(kept)(usage("tiers", role=role, private=private))
    assert reply.text == "Last 7 days, your own turns: nothing yet."


@pytest.mark.parametrize("words", ["week", "0d", "9999", "7d 7d", "all 0", "tiers x", "all tiers", "teirs"])
async def test_unknown_arguments_list_the_valid_ones(kept: Kept, words: str) -> None:
    with pytest.raises(Refused, match=r"Write /usage, /usage 7d for seven days, /usage tiers or /usage all 30d\."):
        await command(kept)(usage(words))


def test_dollars_are_rounded_by_size() -> None:
    amounts = ("0", "0.1", "0.1234", "0.0042", "0.05", "0.99999", "1", "12.3456", "1000000")
    shown = ["$0.00", "$0.10", "$0.12", "$0.0042", "$0.05", "$1.00", "$1.00", "$12.35", "$1,000,000.00"]
    assert [str(dollars(Decimal(each))) for each in amounts] == shown
    german = [Say("de").number(dollars(Decimal(each))) for each in amounts]
    assert german[2:4] + german[-2:] == ["0,12 $", "0,0042 $", "12,35 $", "1.000.000,00 $"]

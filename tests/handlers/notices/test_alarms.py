"""Owners get each alarm once, when the problem begins, also across a restart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from handlers.notices.alarms import NEWEST_TURNS, Alarms
from handlers.notices.notices import Notices
from routing.errors import StorageFault
from routing.types.history import TurnFacts
from routing.types.messages import OutboundMessage, UserKey
from routing.types.people import Person
from routing.types.usage import RecentProblems

OWNER = UserKey("telegram", "1")
NOTHING = RecentProblems(0, 0, 0, 0)
WELL = TurnFacts("balanced", "default", "openai/m", 1.0)
AMISS = replace(WELL, fallback=True)


@dataclass(slots=True)
class FakeStores:
    """Turn statistics as given, one owner, and state that survives a restart."""

    problems: RecentProblems = NOTHING
    kept: dict[str, str] = field(default_factory=dict)
    posted: list[OutboundMessage] = field(default_factory=list)
    asked: int = 0
    broken: bool = False

    async def newest(self, limit: int) -> RecentProblems:
        assert limit == NEWEST_TURNS
        self.asked += 1
        return self.problems

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def put(self, key: str, value: str | None) -> None:
        self.kept[key] = value or ""

    async def owners(self) -> tuple[UserKey, ...]:
        return (OWNER,)

    async def find(self, user: UserKey) -> Person:
        return Person(1, "owner", "Ann")

    async def post(self, messages: list[OutboundMessage]) -> None:
        if self.broken:
            raise StorageFault("the disk is full")
        self.posted += messages

    def alarms(self) -> Alarms:
        fakes: Any = self
        return Alarms(fakes, fakes, Notices(fakes, fakes.post))

    def rung(self) -> list[str]:
        found = [each.text for each in self.posted]
        self.posted = []
        return found


@pytest.mark.parametrize(
    ("quiet", "loud", "words"),
    [
        (
            RecentProblems(50, 15, 0, 0),
            RecentProblems(50, 16, 0, 0),
            "🔔 32% of the last 50 answers came from a fallback model",
        ),
        (
            RecentProblems(50, 0, 7, 0),
            RecentProblems(50, 0, 8, 0),
            "🔔 16% of the last 50 answers missed their deadline",
        ),
        (RecentProblems(50, 0, 0, 15), RecentProblems(50, 0, 0, 16), "🔔 32% of the last 50 answers moved up a tier"),
    ],
    ids=["fallbacks", "timeouts", "escalations"],
)
async def test_an_alarm_is_raised_above_its_limit_not_at_it(
    quiet: RecentProblems, loud: RecentProblems, words: str
) -> None:
    stores = FakeStores(quiet)
    alarms = stores.alarms()
    await alarms.check(AMISS)
    assert stores.rung() == []
    assert stores.kept == {}
    stores.problems = loud
    await alarms.check(AMISS)
    (told,) = stores.rung()
    assert told.startswith(words)
    assert "/usage tiers" in told
    assert "Nothing was changed" in told


async def test_the_message_names_the_limit() -> None:
    stores = FakeStores(RecentProblems(50, 20, 20, 20))
    await stores.alarms().check(AMISS)
    assert [("30%" in each, "15%" in each) for each in stores.rung()] == [(True, False), (False, True), (True, False)]


async def test_no_alarm_before_fifty_turns() -> None:
    stores = FakeStores(RecentProblems(49, 49, 49, 49))
    await stores.alarms().check(AMISS)
    assert stores.rung() == []


@pytest.mark.parametrize(
    ("begun", "above_half", "half"),
    [
        (RecentProblems(50, 30, 0, 0), RecentProblems(50, 8, 0, 0), RecentProblems(50, 7, 0, 0)),
        (RecentProblems(50, 0, 30, 0), RecentProblems(50, 0, 4, 0), RecentProblems(50, 0, 3, 0)),
    ],
    ids=["30%", "15%"],
)
async def test_an_alarm_repeats_only_after_recovery(
    begun: RecentProblems, above_half: RecentProblems, half: RecentProblems
) -> None:
    stores = FakeStores(begun)
    alarms = stores.alarms()
    for _ in range(3):
        await alarms.check(AMISS)
    assert len(stores.rung()) == 1
    for stores.problems in (above_half, begun):
        await alarms.check(AMISS)
    assert stores.rung() == [], "without hysteresis it would be raised again and again"
    for stores.problems in (half, begun):
        await alarms.check(AMISS)
    assert len(stores.rung()) == 1


async def test_raised_alarms_survive_a_restart() -> None:
    stores = FakeStores(RecentProblems(50, 30, 0, 0))
    await stores.alarms().check(AMISS)
    stores.problems = RecentProblems(50, 30, 10, 0)
    await stores.alarms().check(AMISS)
    first, second = stores.rung()
    assert "fallback model" in first
    assert "missed their deadline" in second
    stores.problems = RecentProblems(50, 0, 10, 0)
    await stores.alarms().check(AMISS)
    stores.problems = RecentProblems(50, 30, 10, 0)
    await stores.alarms().check(AMISS)
    assert ["fallback model" in each for each in stores.rung()] == [True]


async def test_an_undelivered_alarm_is_sent_later() -> None:
    stores = FakeStores(RecentProblems(50, 30, 0, 0), broken=True)
    alarms = stores.alarms()
    with pytest.raises(StorageFault):
        await alarms.check(AMISS)
    stores.broken = False
    await alarms.check(AMISS)
    assert len(stores.rung()) == 1


@pytest.mark.parametrize(
    "amiss", [AMISS, replace(WELL, timed_out=True), replace(WELL, escalated=True)], ids=["fallback", "late", "up"]
)
async def test_one_query_per_problematic_turn(amiss: TurnFacts) -> None:
    stores = FakeStores(RecentProblems(50, 0, 0, 0))
    alarms = stores.alarms()
    await alarms.check(amiss)
    await alarms.check(WELL)
    assert stores.asked == 1


async def test_raised_alarms_are_checked_until_recovery() -> None:
    stores = FakeStores(RecentProblems(50, 30, 0, 0))
    alarms = stores.alarms()
    for turn in (AMISS, WELL, WELL):
        await alarms.check(turn)
    stores.problems = RecentProblems(50, 7, 0, 0)
    for turn in (WELL, WELL):
        await alarms.check(turn)
    assert stores.asked == 4


async def test_the_fiftieth_turn_can_raise_an_alarm_even_if_it_went_well() -> None:
    stores = FakeStores(RecentProblems(49, 49, 0, 0))
    alarms = stores.alarms()
    for turn in (AMISS, WELL):
        await alarms.check(turn)
    stores.problems = RecentProblems(50, 49, 0, 0)
    await alarms.check(WELL)
    assert len(stores.rung()) == 1


async def test_a_council_does_not_count() -> None:
    stores = FakeStores(RecentProblems(50, 30, 0, 0))
    await stores.alarms().check(replace(AMISS, source="council"))
    assert (stores.asked, stores.rung()) == (0, [])


async def test_nothing_is_read_while_turns_are_missing() -> None:
    stores = FakeStores(RecentProblems(NEWEST_TURNS - 3, 0, 0, 0))
    alarms = stores.alarms()
    for _ in range(3):
        await alarms.check(AMISS)
    assert stores.asked == 1
    stores.problems = RecentProblems(NEWEST_TURNS, 16, 0, 0)
    await alarms.check(WELL)
    assert (stores.asked, len(stores.rung())) == (2, 1)

"""10,000 schedules with a simulated clock: each occurrence once, across restarts and changes of the clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert

from bot.scheduler import BATCH, LONGEST_SLEEP_SECONDS, Scheduler
from routing.errors import StorageFault
from routing.types.messages import OutboundMessage, UserKey
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.schedules import Firing
from storage.database import open_database
from storage.database.migrate import migrate
from storage.schedules import SqlSchedules
from storage.schema import schedules
from storage.stores import Stores, open_stores
from tests.fakes import ManualClock

HERE = "telegram"


class Arrivals:
    """Counts what arrives."""

    def __init__(self) -> None:
        self.platforms = (HERE,)
        self.texts: Counter[str] = Counter()
        self.any = asyncio.Event()

    def take(self, entries: Sequence[OutboxEntry]) -> None:
        self.any.set()
        self.texts.update(each.message.text.split("\n")[0] for each in entries)

    async def post(self, messages: Sequence[OutboundMessage]) -> None: ...


class Prompts:
    """Counts the messages of tasks. The first `failures` batches are refused."""

    def __init__(self, failures: int = 0) -> None:
        self.texts: Counter[str] = Counter()
        self._failures = failures

    async def take(self, entries: Sequence[InboxEntry]) -> None:
        if self._failures:
            self._failures -= 1
            raise ValueError("refused")
        self.texts.update(each.message.text for each in entries)


class Unavailable(SqlSchedules):
    """Can't start anything twice."""

    def __init__(self, stores: Stores, clock: ManualClock) -> None:
        super().__init__(stores.database, clock)
        self._faults = 2

    async def fire(self, firings: Sequence[Firing]) -> tuple[tuple[OutboxEntry, ...], tuple[InboxEntry, ...]]:
        if self._faults:
            self._faults -= 1
            raise StorageFault("the disk is full")
        return await super().fire(firings)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stores(in_memory: Path, clock: ManualClock) -> AsyncIterator[Stores]:
    url = f"sqlite:///{in_memory / 'bot.db'}"
    await asyncio.to_thread(migrate, url, in_memory / "backups")
    opened = open_stores(open_database(url), clock)
    yield opened
    await opened.database.close()


def scheduler(stores: Stores, clock: ManualClock, arrivals: Arrivals, prompts: Prompts) -> Scheduler:
    """As at a start of the process."""
    return Scheduler(stores.schedules, stores.people, stores.links, arrivals, prompts, asyncio.Event(), clock)


async def fill(stores: Stores, start: float, rule: str = "", kind: str = "reminder", *, count: int) -> None:
    """One due each second."""
    person = await stores.people.admit(UserKey(HERE, "7"), "Ann", "user", "t")
    common = {"platform": HERE, "chat_id": "7", "thread_id": "", "private": True, "kind": kind, "rule": rule}
    common |= {"time_zone": "Europe/Berlin", "state": "active", "failures": 0, "created_at": 0.0}
    rows = [common | {"person_id": person.id, "text": f"r{at}", "next_at": start + at} for at in range(count)]
    await stores.database.write(lambda c: c.execute(insert(schedules), rows))


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_each_of_thousands_once(stores: Stores, clock: ManualClock, count: int) -> None:
    """With a restart in the middle, the clock set back, and set forward."""
    arrivals, prompts = Arrivals(), Prompts()
    await fill(stores, clock.now, count=count)
    clock.now += count * 0.3
    await scheduler(stores, clock, arrivals, prompts).start_due()
    assert len(arrivals.texts) == count * 0.3 + 1
    clock.now -= 7_200
    await scheduler(stores, clock, arrivals, prompts).start_due()
    assert len(arrivals.texts) == count * 0.3 + 1
    clock.now += 7_200 + 86_400
    await asyncio.gather(*(scheduler(stores, clock, arrivals, prompts).start_due() for _ in range(2)))
    assert len(arrivals.texts) == count
    assert set(arrivals.texts.values()) == {1}
    assert await stores.schedules.next_at((HERE,)) is None


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("2026-03-28T02:30", ["28 02:30+0100", "29 03:00+0200", "30 02:30+0200"]),
        ("2026-10-24T02:30", ["24 02:30+0200", "25 02:30+0200", "26 02:30+0100"]),
    ],
    ids=["forward", "back"],
)
async def test_a_reminder_comes_once_a_day_across_a_change_of_the_clocks(
    stores: Stores, clock: ManualClock, start: str, wanted: list[str]
) -> None:
    arrivals, berlin, sent = Arrivals(), ZoneInfo("Europe/Berlin"), list[str]()
    clock.now = datetime.fromisoformat(start).replace(tzinfo=berlin).timestamp()
    await fill(stores, clock.now, "30 2 * * *", count=1)
    for _ in range(2 * 60):
        await scheduler(stores, clock, arrivals, Prompts()).start_due()
        sent += [f"{datetime.fromtimestamp(clock.now, berlin):%d %H:%M%z}"] * (arrivals.texts.total() - len(sent))
        clock.now += 1800
    assert sent == wanted


async def test_tasks_that_repeat_skip_what_was_missed(stores: Stores, clock: ManualClock) -> None:
    arrivals, prompts = Arrivals(), Prompts()
    await fill(stores, clock.now, "0 8 * * *", "prompt", count=50)
    for seconds in (100, 10 * 86_400, -5 * 86_400, 6 * 86_400):
        clock.now += seconds
        await scheduler(stores, clock, arrivals, prompts).start_due()
    assert set(prompts.texts.values()) == {3}, "at first, after ten days, and one day later"
    assert len(await stores.inbox.unfinished()) == 150


async def test_what_is_due_waits_for_the_storage(
    stores: Stores, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handlers.storage_retry.PAUSES", (0.0,))
    arrivals = Arrivals()
    await fill(stores, clock.now, count=3)
    clock.now += 10
    store = Unavailable(stores, clock)
    await Scheduler(store, stores.people, stores.links, arrivals, Prompts(), asyncio.Event(), clock).start_due()
    assert arrivals.texts == Counter({"⏰ r0": 1, "⏰ r1": 1, "⏰ r2": 1}), "none is paused"


async def test_tasks_that_the_inbox_refuses_stop_no_others(stores: Stores, clock: ManualClock) -> None:
    arrivals, prompts = Arrivals(), Prompts(failures=1)
    await fill(stores, clock.now, kind="prompt", count=BATCH + 1)
    clock.now += BATCH
    await scheduler(stores, clock, arrivals, prompts).start_due()
    assert prompts.texts == Counter({f"r{BATCH}": 1})
    assert len(await stores.inbox.unfinished()) == BATCH + 1, "the next start answers them"


async def test_an_idle_scheduler_sleeps_until_something_changes(stores: Stores, clock: ManualClock) -> None:
    arrivals, prompts, changed = Arrivals(), Prompts(), asyncio.Event()
    running = Scheduler(stores.schedules, stores.people, stores.links, arrivals, prompts, changed, clock)
    running.start()
    await fill(stores, clock.now, count=3)
    changed.set()
    async with asyncio.timeout(LONGEST_SLEEP_SECONDS / 2):
        await arrivals.any.wait()
    assert arrivals.texts == Counter({"⏰ r0": 1})
    await running.close()


async def test_a_clock_set_forward_is_noticed_at_once(
    stores: Stores, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a suspended machine wakes up: what the process waits for does not count that time."""
    monkeypatch.setattr("bot.scheduler.CLOCK_SECONDS", 0.01)
    arrivals, prompts = Arrivals(), Prompts()
    await fill(stores, clock.now + 7_200, count=3)
    read = asyncio.Event()

    def reading() -> float:
        read.set()
        return clock.now

    changed = asyncio.Event()
    running = Scheduler(stores.schedules, stores.people, stores.links, arrivals, prompts, changed, reading)
    running.start()
    await read.wait()
    clock.now += 7_201
    async with asyncio.timeout(LONGEST_SLEEP_SECONDS / 2):
        await arrivals.any.wait()
    assert set(arrivals.texts.values()) == {1}
    await running.close()

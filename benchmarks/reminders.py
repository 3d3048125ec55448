"""Measures how late reminders are queued: 10,000 in the table, spread over a minute."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.reporting.section import percentile
from bot.platform import Platform
from bot.scheduler import Scheduler
from routing.types.messages import ChatKey, UserKey
from routing.types.queues import InboxEntry, OutboxEntry
from routing.types.schedules import Schedule
from storage.database import open_database
from storage.database.migrate import migrate
from storage.stores import Stores, open_stores

HERE = "telegram"
MAX_P95_SECONDS = 1.0


class Arrivals:
    """Takes the place of the outbox and the inbox: notes when each entry arrived."""

    def __init__(self, count: int) -> None:
        """`all` is set after `count` entries."""
        self._count = count
        self.all = asyncio.Event()
        self.platforms: Mapping[str, Platform | None] = {HERE: None}
        self.at: dict[int, float] = {}
        self.replies: list[OutboxEntry] = []

    def take(self, entries: Sequence[OutboxEntry]) -> None:
        self.replies += entries
        for each in entries:
            self.at[each.id] = time.time()
        if len(self.replies) >= self._count:
            self.all.set()

    async def post(self, messages: object) -> None: ...


class NoMessages:
    async def take(self, entries: Sequence[InboxEntry]) -> None: ...


async def fill(stores: Stores, count: int, first: float, seconds: float) -> None:
    """Stores reminders of 100 people, evenly spread."""
    people = []
    for number in range(100):
        person = await stores.people.admit(UserKey(HERE, str(number)), f"P{number}", "user", "benchmark")
        people.append(person.id)
    for number in range(count):
        at = first + seconds * number / count
        chat = ChatKey(HERE, str(number % 100))
        text = f"reminder {number}"
        added = await stores.schedules.add(
            Schedule(people[number % 100], chat, True, "reminder", text, "", "UTC", at, first), count
        )
        assert added is not None


async def measure(count: int, seconds: float) -> list[float]:
    """The lateness of each reminder, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bot.db'}"
        await asyncio.to_thread(migrate, url, Path(folder) / "backups")
        stores = open_stores(open_database(url), time.time)
        first = time.time() + 30 + count / 500  # after filling
        await fill(stores, count, first, seconds)
        arrivals = Arrivals(count)
        scheduler = Scheduler(
            stores.schedules, stores.people, stores.links, arrivals, NoMessages(), asyncio.Event(), time.time
        )
        scheduler.start()
        await arrivals.all.wait()
        await scheduler.close()
        await stores.database.close()
        late = [
            arrivals.at[each.id] - (first + seconds * int(each.message.text.split()[-1]) / count)
            for each in arrivals.replies
        ]
        assert len(late) == count, "each exactly once"
        return late


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--seconds", type=float, default=60.0)
    chosen = options.parse_args()
    late = asyncio.run(measure(chosen.count, chosen.seconds))
    p50, p95 = percentile(late, 0.5), percentile(late, 0.95)
    print(
        f"{len(late):,} reminders in {chosen.seconds:g} s: p50 {p50:.3f} s, p95 {p95:.3f} s, latest {max(late):.3f} s"
    )
    return 0 if p95 <= MAX_P95_SECONDS else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""Measures the admin page with ten thousand people and a full log: the time of each page, client included.

python -m benchmarks.admin_page
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from benchmarks.reporting.section import VERDICTS, Section, answered, load, parser, percentile, print_progress, sampled
from bot.observability.logs import MAX_RECENT, MAX_RECENT_CHARACTERS, GroupingHandler, RecentLine
from tests.stories.admin_page import PAGES, admin_page, fill_people, populate
from tests.stories.harness import bot_harness

PEOPLE, ROUNDS = 10_000, 20
QUICK = (100, 2)
MAX_SECONDS = 0.1
"""Maximum median CPU time of a page."""
MORE_PAGES = ("/people?page=200", "/people?q=person+99", "/people?q=@user4242", "/logs?q=gpt-5.1")
LINE = "2026-11-28 14:05:00,123 INFO    0a1b2c3d bot.inbox: [Turn] openai/gpt-5.1 answered telegram:1001 within 2.3 s. "
HEADINGS = ("page", "p50, ms", "p95, ms", "CPU p50, ms", "kB", "limit", "")


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds and CPU seconds of each request of a page, and its size in bytes. The limit is for CPU time, because
    other programs on the machine only lengthen the other."""

    path: str
    seconds: Sequence[float]
    cpu: Sequence[float]
    size: int

    @property
    def kept(self) -> bool:
        """Whether the page is fast enough."""
        return percentile(self.cpu, 0.5) <= MAX_SECONDS


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every page is fast enough; 1: one is not."""
    options = parser("benchmarks.admin_page", __doc__)
    return answered(options, arguments, lambda given: run(*(QUICK if given.quick else (PEOPLE, ROUNDS))))


def run(people: int, rounds: int) -> Section:
    """All pages, one after the other."""
    before = load()
    found = asyncio.run(measure(people, rounds))
    return report(found, f"{people:,} people, {rounds} requests of each page. {before} at the start.")


async def measure(people: int, rounds: int) -> list[Timed]:
    """Start a bot, fill its database, and fetch each page once without and then `rounds` times with a clock."""
    with tempfile.TemporaryDirectory() as folder, full_log():
        async with bot_harness(Path(folder) / "workspace") as on, admin_page(on) as page:
            await populate(page.app.messaging.stores, time.time())
            await page.app.messaging.stores.database.write(lambda c: fill_people(c, people))
            await page.sign_in()
            found = []
            for path in (*PAGES, *MORE_PAGES):
                print_progress(path)
                size = len((await page.http.get(path)).content)
                seconds, cpu = [], []
                for _ in range(rounds):
                    began, used = time.perf_counter(), time.process_time()
                    (await page.http.get(path)).raise_for_status()
                    seconds.append(time.perf_counter() - began)
                    cpu.append(time.process_time() - used)
                found.append(Timed(path, seconds, cpu, size))
            return found


@contextmanager
def full_log() -> Iterator[None]:
    """As many recent lines as are kept, each as long as it can be."""
    handler = GroupingHandler(StringIO())
    line = (LINE * (MAX_RECENT_CHARACTERS // len(LINE) + 1))[:MAX_RECENT_CHARACTERS]
    handler.recent.extend([RecentLine(logging.INFO, line)] * MAX_RECENT)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


def report(found: Sequence[Timed], conditions: str) -> Section:
    """The table and its verdict."""
    lines = (HEADINGS, *map(_line, found))
    return sampled("admin page", lines, (conditions,), [each.kept for each in found], {"pages": found})


def _line(each: Timed) -> tuple[str, ...]:
    times = (percentile(each.seconds, 0.5), percentile(each.seconds, 0.95), percentile(each.cpu, 0.5))
    limit = f"CPU ≤ {1000 * MAX_SECONDS:.0f}"
    figures = (f"{1000 * seconds:.1f}" for seconds in times)
    return (f"`{each.path}`", *figures, f"{each.size / 1000:.0f}", limit, VERDICTS[each.kept])


if __name__ == "__main__":
    sys.exit(main())

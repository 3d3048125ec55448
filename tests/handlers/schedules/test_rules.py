"""Repeated times across changes of the clocks: each local time happens exactly once a day."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from handlers.languages import Say
from handlers.schedules.rules import is_cron, local_time, next_time, shortest_gap
from handlers.schedules.views import repetition


def times(rule: str, start: str, zone: str, count: int) -> list[str]:
    """The next times, each from the previous one, with their offsets."""
    here = ZoneInfo(zone)
    at = datetime.fromisoformat(start).replace(tzinfo=here).timestamp()
    found = []
    for _ in range(count):
        following = next_time(rule, at, at, here)
        assert following is not None
        assert following > at
        at = following
        found.append(f"{datetime.fromtimestamp(at, here):%m-%d %H:%M%z}")
    return found


@pytest.mark.parametrize(
    ("rule", "start", "zone", "wanted"),
    [
        ("30 2 * * *", "2026-03-28T02:30", "Europe/Berlin", ["03-29 03:00+0200", "03-30 02:30+0200"]),
        ("30 2 * * *", "2026-10-24T02:30", "Europe/Berlin", ["10-25 02:30+0200", "10-26 02:30+0100"]),
        ("30 2 * * *", "2026-03-07T02:30", "America/New_York", ["03-08 03:00-0400", "03-09 02:30-0400"]),
        ("30 1 * * *", "2026-10-31T01:30", "America/New_York", ["11-01 01:30-0400", "11-02 01:30-0500"]),
        ("0 8 * * 1-5", "2026-03-27T08:00", "Europe/Berlin", ["03-30 08:00+0200", "03-31 08:00+0200"]),
        ("0 8 * * *", "2026-10-24T08:00", "Europe/Berlin", ["10-25 08:00+0100", "10-26 08:00+0100"]),
        ("@days 7 02:30", "2026-03-22T02:30", "Europe/Berlin", ["03-29 03:30+0200", "04-05 02:30+0200"]),
        ("@days 7 02:30", "2026-10-18T02:30", "Europe/Berlin", ["10-25 02:30+0200", "11-01 02:30+0100"]),
        ("@month 30 08:00", "2027-01-30T08:00", "Europe/Berlin", ["02-28 08:00+0100", "03-30 08:00+0200"]),
        ("@month 31 08:00", "2028-01-31T08:00", "Europe/Berlin", ["02-29 08:00+0100", "03-31 08:00+0200"]),
        ("0 9 L 2 *", "2027-01-01T09:00", "Europe/Berlin", ["02-28 09:00+0100", "02-29 09:00+0100"]),
        ("@every 3600", "2026-10-25T01:00", "Europe/Berlin", ["10-25 02:00+0200", "10-25 02:00+0100"]),
    ],
)
def test_each_time_once(rule: str, start: str, zone: str, wanted: list[str]) -> None:
    assert times(rule, start, zone, 2) == wanted


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("@month 30 08:00", "every month on day 30 at 08:00, in shorter months on the last day"),
        ("@month 31 08:00", "every month on the last day at 08:00"),
        ("0 8 L * *", "every month on the last day at 08:00"),
        ("0 8 30 * *", "every month on day 30 at 08:00"),
        ("0 9 24 12 *", "every year on 24 Dec at 09:00"),
        ("0 9 L 2 *", "every year on the last day of February at 09:00"),
        ("0 9 24 12 1", "cron `0 9 24 12 1`"),
        ("0 8 1,15 * *", "every month on days 1, 15 at 08:00"),
    ],
)
def test_days_of_a_month_in_words(rule: str, words: str) -> None:
    assert repetition(Say("en"), rule) == words


def test_nothing_is_repeated_in_the_second_of_two_equal_hours() -> None:
    zone = ZoneInfo("Europe/Berlin")
    second = datetime(2026, 10, 25, 2, 1, tzinfo=zone, fold=1).timestamp()
    found = next_time("30 2 * * *", second, second, zone)
    assert found == datetime(2026, 10, 26, 2, 30, tzinfo=zone).timestamp()


def test_missed_times_are_skipped() -> None:
    zone = ZoneInfo("UTC")
    due, now = 0.0, 10 * 86_400.0 + 5
    assert next_time("@every 1200", due, now, zone) == 10 * 86_400.0 + 1200
    assert next_time("@days 3 00:00", due, now, zone) == 12 * 86_400.0
    assert next_time("0 0 * * *", due, now, zone) == 11 * 86_400.0


def test_a_single_time_that_does_not_exist_or_happens_twice() -> None:
    zone = ZoneInfo("Europe/Berlin")
    gap = datetime(2026, 3, 29, 2, 30)
    assert datetime.fromtimestamp(local_time(gap.date(), gap.time(), zone), zone).hour == 3
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    assert local_time(twice.date(), twice.time(), zone) == twice.timestamp()


@pytest.mark.parametrize("text", ["* * * *", "61 * * * *", "0 0 30 2 *", "news at 8 every day", "a b c d e", ""])
def test_what_is_no_cron_expression(text: str) -> None:
    assert not is_cron(text)


@pytest.mark.parametrize(
    ("rule", "gap"),
    [("*/5 * * * *", 300.0), ("0 8 * * *", 86_400.0), ("0,2 8 * * *", 120.0), ("@every 60", 60.0)],
)
def test_the_shortest_gap(rule: str, gap: float) -> None:
    assert shortest_gap(rule, 0.0, ZoneInfo("UTC")) == gap

"""Days and months in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

PeriodKind = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` to before `end`, in Unix seconds; `date` is the first day."""

    date: date
    start: float
    end: float


def current(period: PeriodKind, now: float, zone: ZoneInfo) -> Period:
    """The day or month of `now`. Days have 23 to 25 hours when clocks change."""
    today = datetime.fromtimestamp(now, zone).date()
    if period == "day":
        return _period(today, today + timedelta(days=1), zone)
    first = today.replace(day=1)
    return _period(first, (first + timedelta(days=31)).replace(day=1), zone)


def days(now: float, count: int, zone: ZoneInfo) -> tuple[Period, ...]:
    """The last `count` days, ending today."""
    today = datetime.fromtimestamp(now, zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(count))]
    return tuple(_period(each, each + timedelta(days=1), zone) for each in dates)


def _period(first: date, after: date, zone: ZoneInfo) -> Period:
    return Period(first, _midnight(first, zone), _midnight(after, zone))


def _midnight(day: date, zone: ZoneInfo) -> float:
    """The first midnight of a day; derived from the date, because a night may have two."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()

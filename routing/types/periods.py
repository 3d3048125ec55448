"""Days and months as the calendar of a time zone has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

PeriodKind = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to, not including, `end`, in Unix seconds; `date` is its first day."""

    date: date
    start: float
    end: float


def current(period: PeriodKind, now: float, zone: ZoneInfo) -> Period:
    """The day or month that `now` is in. A day has 23 to 25 hours where clocks are moved."""
    today = datetime.fromtimestamp(now, zone).date()
    if period == "day":
        return _stretch(today, today + timedelta(days=1), zone)
    first = today.replace(day=1)
    return _stretch(first, (first + timedelta(days=31)).replace(day=1), zone)


def days(now: float, count: int, zone: ZoneInfo) -> tuple[Period, ...]:
    """The last `count` days, today the last of them."""
    today = datetime.fromtimestamp(now, zone).date()
    dates = [today - timedelta(days=back) for back in reversed(range(count))]
    return tuple(_stretch(each, each + timedelta(days=1), zone) for each in dates)


def _stretch(first: date, after: date, zone: ZoneInfo) -> Period:
    return Period(first, _midnight(first, zone), _midnight(after, zone))


def _midnight(day: date, zone: ZoneInfo) -> float:
    """Made anew: the midnight of a time that comes twice in a night would be the second one."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()

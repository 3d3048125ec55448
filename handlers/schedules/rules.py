"""Rules of repetition: cron expressions, and intervals that cron can't express.

A rule is one of
- a cron expression of five fields, in the person's time zone;
- `@every 1200`: each 1,200 seconds;
- `@days 14 09:00`: every 14 days at this time of day, in the person's time zone;
- `@month 30 09:00`: each month on this day, or on the last one of a shorter month.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

EVERY, DAYS, MONTH = "@every ", "@days ", "@month "
FIELDS = 5
_INTERVAL = re.compile(
    r"@every [1-9]\d{0,8}|@(?:days [1-9]\d{0,3}|month (?:29|3[01])) (?:[01]\d|2[0-3]):[0-5]\d", re.ASCII
)


def local_time(day: date, at: time, zone: ZoneInfo) -> float:
    """Unix seconds of a local time. A time that the clocks skip is moved behind the gap; of a time that happens twice,
    this is the first one."""
    return datetime.combine(day, at, zone).astimezone(UTC).timestamp()


def is_cron(text: str) -> bool:
    """Whether this is a cron expression with at least one time."""
    fields = text.split()
    if len(fields) != FIELDS or not (fields[0][0].isdigit() or fields[0][0] == "*"):
        return False
    try:
        return next(CronSim(text, datetime(2000, 1, 1, tzinfo=UTC)), None) is not None
    except CronSimError:
        return False


def is_rule(text: str) -> bool:
    """Whether this is a rule of repetition."""
    return is_cron(text) or _INTERVAL.fullmatch(text) is not None


def next_time(rule: str, due: float, after: float, zone: ZoneInfo) -> float | None:
    """The first time later than `after`, in Unix seconds; None if there is none. `due` is an earlier time of the rule.

    A day without the local time gets it right after the gap, and a day that has it twice gets only the first one.
    """
    if rule.startswith(EVERY):
        seconds = int(rule.removeprefix(EVERY))
        return due + seconds * max(1, int((after - due) // seconds) + 1)
    if rule.startswith(DAYS):
        days, at = rule.removeprefix(DAYS).split()
        return _every_days(int(days), time.fromisoformat(at), due, after, zone)
    if rule.startswith(MONTH):
        day, at = rule.removeprefix(MONTH).split()
        return _every_month(int(day), time.fromisoformat(at), after, zone)
    for found in CronSim(rule, datetime.fromtimestamp(after, zone)):
        if found.timestamp() > after:  # it starts before `after` in the second of two equal hours
            return found.timestamp()
    return None


def _every_days(days: int, at: time, due: float, after: float, zone: ZoneInfo) -> float:
    first = datetime.fromtimestamp(due, zone).date()
    steps = max(0, (datetime.fromtimestamp(after, zone).date() - first).days // days)
    while (found := local_time(first + timedelta(days=days * steps), at, zone)) <= after:
        steps += 1
    return found


def day_of_month(year: int, month: int, day: int) -> date:
    """This day, or the last one of its month."""
    return date(year, month, min(day, monthrange(year, month)[1]))


def _every_month(day: int, at: time, after: float, zone: ZoneInfo) -> float:
    year, month = datetime.fromtimestamp(after, zone).timetuple()[:2]
    while (found := local_time(day_of_month(year, month, day), at, zone)) <= after:
        year, month = year + month // 12, month % 12 + 1
    return found


def shortest_gap(rule: str, start: float, zone: ZoneInfo) -> float:
    """The shortest time between two of the next occurrences, in seconds."""
    if rule.startswith(EVERY):
        return float(rule.removeprefix(EVERY))
    if rule.startswith((DAYS, MONTH)):
        return 86_400.0
    least, last = float("inf"), None
    for count, found in enumerate(CronSim(rule, datetime.fromtimestamp(start, zone))):
        if last is not None:
            least = min(least, found.timestamp() - last)
        last = found.timestamp()
        if count >= 100:
            break
    return least

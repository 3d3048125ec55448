"""Times as models write and read them, in the person's time zone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from routing.errors import ToolFailed

When = date | datetime
"""A day, for what lasts all day, or a moment with its time zone."""
Span = tuple[datetime, datetime]
_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}
_HELP = "write it like 2026-11-24T15:00, or 2026-11-24 for a whole day, or today or tomorrow"
FIRST_YEAR, LAST_YEAR = 1970, 2099


def exactly(text: str, zone: ZoneInfo, now: float) -> str:
    """The same time in words that `read_when` reads in the same way later, in the person's zone if it names no other.
    Raises ToolFailed."""
    when = read_when(text, zone, now)
    own = isinstance(when, datetime) and when.tzinfo == zone  # a series keeps the zone's rules only without an offset
    return (when.replace(tzinfo=None) if isinstance(when, datetime) and own else when).isoformat()


def read_when(text: str, zone: ZoneInfo, now: float) -> When:
    """A day, or a moment in the person's zone if it names no other. Raises ToolFailed."""
    word = " ".join(text.lower().split())
    present = datetime.fromtimestamp(now, zone)
    if word == "now":
        return present.replace(second=0, microsecond=0)
    day, _, rest = word.partition(" ")
    if day in _DAYS:
        there = present.date() + timedelta(days=_DAYS[day])
        if not rest:
            return there
        word = f"{there.isoformat()}T{rest.removeprefix('at ').zfill(len('09:00'))}"
    try:
        found: When = date.fromisoformat(word) if len(word) == 10 else datetime.fromisoformat(word.upper())
    except ValueError:
        raise ToolFailed(f"{text[:40]!r} is not a time: {_HELP}.") from None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise ToolFailed(f"The year of {text[:40]!r} must be between {FIRST_YEAR} and {LAST_YEAR}.")
    if isinstance(found, datetime) and found.tzinfo is None:
        found = found.replace(tzinfo=zone)
    return found


def moment(when: When, zone: tzinfo) -> datetime:
    """The start of a day in this zone, or the moment itself in it. A moment without a zone is in this one, and so is
    one at the end of the calendar, which has no date there."""
    if not isinstance(when, datetime):
        return datetime.combine(when, time(), zone)
    try:
        return when.astimezone(zone) if when.tzinfo is not None else when.replace(tzinfo=zone)
    except OverflowError:
        return when.replace(tzinfo=zone)


def read_range(start: str, end: str, days: int, zone: ZoneInfo, now: float) -> Span:
    """The span from `start` to `end`, whole days included; `days` long without an end. Raises ToolFailed."""
    begins = read_when(start or "today", zone, now)
    first = moment(begins, zone)
    if not end:
        return first, moment(first.date() + timedelta(days=days), zone)
    ends = read_when(end, zone, now)
    last = moment(ends, zone) if isinstance(ends, datetime) else moment(ends + timedelta(days=1), zone)
    if last.timestamp() <= first.timestamp():
        raise ToolFailed("The end must be after the start.")
    return first, last


def shown(when: When, zone: ZoneInfo) -> str:
    """`Tue 2026-11-24 15:00` in the person's zone, or `Tue 2026-11-24` for a day."""
    if not isinstance(when, datetime):
        return f"{when:%a %Y-%m-%d}"
    return f"{moment(when, zone):%a %Y-%m-%d %H:%M}"


def free(busy: Iterable[Span], first: datetime, last: datetime, hours: tuple[int, int], minutes: int) -> list[Span]:
    """The gaps of at least `minutes` between `hours` (from, to) of each day, in the zone of `first`."""
    zone = first.tzinfo
    taken = sorted((start.astimezone(UTC), end.astimezone(UTC)) for start, end in busy)
    found: list[Span] = []
    day = first.date()
    while day <= last.date():
        begins = datetime.combine(day, time(hours[0]), zone)
        ends = datetime.combine(day + timedelta(days=hours[1] == 24), time(hours[1] % 24), zone)
        at, until = max(begins, first).astimezone(UTC), min(ends, last).astimezone(UTC)
        for start, end in taken:
            if end <= at or start >= until:
                continue
            found.append((at, start))
            at = max(at, end)
        found.append((at, until))
        day += timedelta(days=1)
    enough = timedelta(minutes=minutes)
    return [(start.astimezone(zone), end.astimezone(zone)) for start, end in found if end - start >= enough]

"""Calendar entries and their repetitions (iCalendar, RFC 5545).

It imports icalendar, so it is imported when a calendar is first used. Everything here may take a while; call it in a
thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import prod
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar, Component
from icalendar.parser import Contentlines

from handlers.tools.calendar.times import Span, When, moment
from routing.errors import ToolFailed

TOO_OFTEN = ("SECONDLY", "MINUTELY", "HOURLY")
"""Repetitions that no calendar needs, but that would take forever to list."""
MAX_TIMES_A_DAY = 24
FIRST_YEAR = 1900
"""What repeats since an earlier year, and not yearly, would take long to list."""
_ZONE_RULE = frozenset(("FREQ", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL", "COUNT", "WKST"))
"""What the rule of a time zone's change needs. The library counts all changes from the first one on."""
MAX_OCCURRENCES = 2_000
MAX_TEXT = 2_000
"""Characters of a title, a place or notes that a model sees or writes."""
UNCHANGEABLE = "This entry can't be changed here."


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event, or one repetition of it. `recurrence_id` is the original start of the repetition; empty if there is
    only one. The end is exclusive."""

    recurrence_id: str
    title: str
    start: When
    end: When
    place: str
    notes: str
    attendees: tuple[str, ...]
    busy: bool

    def span(self, zone: ZoneInfo) -> Span:
        return moment(self.start, zone), moment(self.end, zone)


def parse(text: str) -> Calendar | None:
    """An entry as the server keeps it; None if it can't be read."""
    try:
        found = Calendar.from_ical(_without_odd_zones(text))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        return None
    return found if isinstance(found, Calendar) else None


def _without_odd_zones(text: str) -> str:
    """The entry with yearly rules in place of those of time zones that would take forever."""
    kept, begun = [], ""
    lines: Iterable[str] = Contentlines.from_ical(text)  # type: ignore[no-untyped-call] # has no types
    for line in lines:
        upper = line.upper().strip()
        if upper.startswith("BEGIN"):
            begun = upper.rpartition(":")[2]
        odd = begun in ("STANDARD", "DAYLIGHT") and upper.startswith(("RRULE", "EXRULE")) and not _is_zone_rule(upper)
        kept.append("RRULE:FREQ=YEARLY" if odd else line)
    return "\r\n".join(kept)


def _is_zone_rule(line: str) -> bool:
    name, _, rule = line.partition(":")
    parts = dict(each.partition("=")[::2] for each in rule.split(";"))
    return name == "RRULE" and parts.get("FREQ") == "YEARLY" and _ZONE_RULE.issuperset(parts)


def occurrences(calendar: Calendar, first: datetime, last: datetime, zone: ZoneInfo) -> list[Occurrence]:
    """The repetitions between two moments. Entries that repeat too often count once; broken ones are left out."""
    try:
        for event in calendar.walk("VEVENT"):
            rules, start = event.get("RRULE"), time_of(event, "DTSTART")
            listed = [rule for rule in (rules if isinstance(rules, list) else [rules]) if rule is not None]
            if any(too_often(rule) or (start and _too_old(rule, start)) for rule in listed):
                event.pop("RRULE", None)
        repeats = any("RRULE" in each or "RDATE" in each for each in calendar.walk("VEVENT"))
        found = recurring_ical_events.of(calendar, skip_bad_series=True).between(first, last)
        return list(_listed(found[:MAX_OCCURRENCES], repeats))
    except (ValueError, TypeError, OverflowError, KeyError, AttributeError):
        return []


def too_often(rule: Any) -> bool:
    times = [len(rule.get(name, ())) or 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND")]
    often = prod(times) > MAX_TIMES_A_DAY or any(each in TOO_OFTEN for each in rule.get("FREQ", ()))
    return often or any(each < 1 for each in rule.get("INTERVAL", ()))


def _too_old(rule: Any, start: When) -> bool:
    return start.year < FIRST_YEAR and "YEARLY" not in rule.get("FREQ", ())


def _listed(found: Sequence[Component], repeats: bool) -> Iterator[Occurrence]:
    for event in found:
        if (start := time_of(event, "DTSTART")) is None or str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        original = time_of(event, "RECURRENCE-ID") or start
        yield Occurrence(
            recurrence_id=recurrence_id_of(original) if repeats else "",
            title=_text(event, "SUMMARY") or "(no title)",
            start=start,
            end=end_of(event, start),
            place=_text(event, "LOCATION"),
            notes=_text(event, "DESCRIPTION"),
            attendees=attendees(event),
            busy=str(event.get("TRANSP", "")).upper() != "TRANSPARENT",
        )


def master(calendar: Calendar) -> Component:
    """The event itself, not a changed repetition of it. Raises ToolFailed."""
    found: list[Component] = [each for each in calendar.walk("VEVENT") if "RECURRENCE-ID" not in each]
    if not found:
        raise ToolFailed(UNCHANGEABLE)
    return found[0]


def find(calendar: Calendar, recurrence_id: str, zone: ZoneInfo) -> Occurrence:
    """The repetition with this recurrence id, or the event itself without one. Raises ToolFailed."""
    main = master(calendar)
    start = original_start(main, recurrence_id) if recurrence_id else start_of(main)
    event = (changed_repetition(calendar, start) if recurrence_id else None) or main
    begins = start if event is main else time_of(event, "DTSTART") or start
    length = end_of(event, time_of(event, "DTSTART") or begins) - (time_of(event, "DTSTART") or begins)
    return Occurrence(
        recurrence_id,
        _text(event, "SUMMARY") or "(no title)",
        begins,
        shifted(begins, length),
        _text(event, "LOCATION"),
        _text(event, "DESCRIPTION"),
        attendees(event),
        True,
    )


def attendees(event: Component) -> tuple[str, ...]:
    """The addresses of the people who are invited."""
    given = event.get("ATTENDEE", [])
    each = given if isinstance(given, list) else [given]
    return tuple(_line(str(one).removeprefix("mailto:").removeprefix("MAILTO:"), 254) for one in each[:100])


def original_start(main: Component, recurrence_id: str) -> When:
    """The start of a repetition by its recurrence id, of the type and in the zone of the event. Raises ToolFailed."""
    start = time_of(main, "DTSTART")
    try:
        if not isinstance(start, datetime):
            return datetime.strptime(recurrence_id, "%Y%m%d").date()
        naive = datetime.strptime(recurrence_id, "%Y%m%dT%H%M%S")
    except ValueError:
        raise ToolFailed("There is no such event. List the events again.") from None
    return naive.replace(tzinfo=start.tzinfo)


def changed_repetition(calendar: Calendar, original: When) -> Component | None:
    """The changed repetition that replaces the one at this time."""
    for each in calendar.walk("VEVENT"):
        when = time_of(each, "RECURRENCE-ID")
        if when is not None and recurrence_id_of(when) == recurrence_id_of(original):
            return each
    return None


def time_of(event: Component, name: str) -> When | None:
    value = getattr(event.get(name), "dt", None)
    return value if isinstance(value, date) else None


def start_of(event: Component) -> When:
    """Raises ToolFailed for an entry that some program wrote without a start."""
    start = time_of(event, "DTSTART")
    if start is None:
        raise ToolFailed(UNCHANGEABLE)
    return start


def end_of(event: Component, start: When) -> When:
    end, length = time_of(event, "DTEND"), getattr(event.get("DURATION"), "dt", None)
    if end is not None and isinstance(end, datetime) == isinstance(start, datetime):
        if isinstance(end, datetime) and isinstance(start, datetime) and (end.tzinfo is None) != (start.tzinfo is None):
            return start
        return max(start, end)
    if isinstance(length, timedelta):
        return shifted(start, length)
    return start if isinstance(start, datetime) else start + timedelta(days=1)


def shifted(when: When, by: timedelta, now: When | None = None, before: When | None = None) -> When:
    """`when` later by a duration. If an event turns from a whole day into a time or back, it gets the usual length."""
    if now is not None and isinstance(now, datetime) != isinstance(before, datetime):
        by = timedelta(hours=1) if isinstance(now, datetime) else timedelta(days=1)
    return when + by


def recurrence_id_of(when: When) -> str:
    return f"{when:%Y%m%dT%H%M%S}" if isinstance(when, datetime) else f"{when:%Y%m%d}"


def _text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return _line(str(value[0] if isinstance(value, list) and value else value), MAX_TEXT)


def _line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"

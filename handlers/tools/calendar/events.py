"""Calendar entries: reading them with their repetitions, and changing them (iCalendar, RFC 5545).

It imports icalendar, so it is imported when a calendar is first used. Everything here may take a while; call it in a
thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from math import prod
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Alarm, Calendar, Component, Event, vCalAddress, vRecur, vText
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
WORDS = {
    "daily": "FREQ=DAILY",
    "weekly": "FREQ=WEEKLY",
    "monthly": "FREQ=MONTHLY",
    "yearly": "FREQ=YEARLY",
    "weekdays": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
}
MAX_OCCURRENCES = 2_000
MAX_TEXT = 2_000
"""Characters of a title, a place or notes that a model sees or writes."""
_PRODUCT = "-//tierbot//calendar//EN"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event, or one repetition of it. `mark` names the repetition among those of the event; empty if there is only
    one. The end is exclusive."""

    mark: str
    title: str
    start: When
    end: When
    place: str
    notes: str
    attendees: tuple[str, ...]
    busy: bool

    def span(self, zone: ZoneInfo) -> Span:
        return moment(self.start, zone), moment(self.end, zone)


@dataclass(frozen=True, slots=True)
class Changes:
    """What to set; None leaves a field as it is."""

    title: str | None = None
    start: When | None = None
    end: When | None = None
    place: str | None = None
    notes: str | None = None
    attendees: Sequence[str] | None = None


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
            rules, start = event.get("RRULE"), _time(event, "DTSTART")
            listed = [rule for rule in (rules if isinstance(rules, list) else [rules]) if rule is not None]
            if any(_too_often(rule) or (start and _too_old(rule, start)) for rule in listed):
                event.pop("RRULE", None)
        repeats = any("RRULE" in each or "RDATE" in each for each in calendar.walk("VEVENT"))
        found = recurring_ical_events.of(calendar, skip_bad_series=True).between(first, last)
        return list(_listed(found[:MAX_OCCURRENCES], repeats))
    except (ValueError, TypeError, OverflowError, KeyError, AttributeError):
        return []


def _too_often(rule: Any) -> bool:
    times = [len(rule.get(name, ())) or 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND")]
    often = prod(times) > MAX_TIMES_A_DAY or any(each in TOO_OFTEN for each in rule.get("FREQ", ()))
    return often or any(each < 1 for each in rule.get("INTERVAL", ()))


def _too_old(rule: Any, start: When) -> bool:
    return start.year < FIRST_YEAR and "YEARLY" not in rule.get("FREQ", ())


def _listed(found: Sequence[Component], repeats: bool) -> Iterator[Occurrence]:
    for event in found:
        if (start := _time(event, "DTSTART")) is None or str(event.get("STATUS", "")).upper() == "CANCELLED":
            continue
        original = _time(event, "RECURRENCE-ID") or start
        yield Occurrence(
            mark=_mark(original) if repeats else "",
            title=_text(event, "SUMMARY") or "(no title)",
            start=start,
            end=_end(event, start),
            place=_text(event, "LOCATION"),
            notes=_text(event, "DESCRIPTION"),
            attendees=attendees(event),
            busy=str(event.get("TRANSP", "")).upper() != "TRANSPARENT",
        )


def new(changes: Changes, repeat: str, remind_minutes: int, organizer: str) -> tuple[str, Calendar]:
    """A new entry and its unique id. Raises ToolFailed."""
    calendar, uid = Calendar(), str(uuid4())
    calendar.add("PRODID", _PRODUCT)
    calendar.add("VERSION", "2.0")
    event = Event()
    event.add("UID", uid)
    assert changes.start is not None
    event.add("DTSTART", changes.start)
    if changes.end is None and isinstance(changes.start, datetime):
        changes = replace(changes, end=changes.start + timedelta(hours=1))
    if repeat:
        event.add("RRULE", read_rule(repeat))
    _apply(event, changes, organizer)
    if remind_minutes:
        alarm = Alarm()
        alarm.add("ACTION", "DISPLAY")
        alarm.add("DESCRIPTION", changes.title or "")
        alarm.add("TRIGGER", -timedelta(minutes=remind_minutes))
        event.add_component(alarm)
    calendar.add_component(event)
    return uid, calendar


def change(calendar: Calendar, mark: str, changes: Changes, organizer: str) -> None:
    """Change an event, or with a mark only that repetition. Raises ToolFailed."""
    main = master(calendar)
    if not mark:
        if changes.start is not None and ("RRULE" in main or "RDATE" in main):
            _move_series(calendar, main, changes.start)
        _apply(main, changes, organizer)
        return
    original = _original(main, mark)
    event = _exception(calendar, original)
    if event is None:
        _check_repeats(calendar, mark, original)
        event = Event.from_ical(main.to_ical())
        start = _time(main, "DTSTART")
        assert start is not None
        for name in ("RRULE", "RDATE", "EXDATE", "DURATION", "DTSTART", "DTEND"):
            event.pop(name, None)
        event.add("DTSTART", original)
        event.add("DTEND", _shifted(original, _end(main, start) - start))
        event.add("RECURRENCE-ID", original)
        calendar.add_component(event)
    _apply(event, changes, organizer)


def cancel(calendar: Calendar, mark: str) -> None:
    """Remove one repetition. Raises ToolFailed."""
    main = master(calendar)
    original = _original(main, mark)
    event = _exception(calendar, original)
    if event is not None:
        calendar.subcomponents.remove(event)
    else:
        _check_repeats(calendar, mark, original)
    main.add("EXDATE", original)
    _touch(main)


def master(calendar: Calendar) -> Component:
    """The event itself, not a changed repetition of it. Raises ToolFailed."""
    found: list[Component] = [each for each in calendar.walk("VEVENT") if "RECURRENCE-ID" not in each]
    if not found:
        raise ToolFailed("This entry can't be changed here.")
    return found[0]


def find(calendar: Calendar, mark: str, zone: ZoneInfo) -> Occurrence | None:
    """The repetition with this mark, or the event itself without one."""
    main = master(calendar)
    start = _original(main, mark) if mark else _time(main, "DTSTART")
    if start is None:
        return None
    event = (_exception(calendar, start) if mark else None) or main
    begins = start if event is main else _time(event, "DTSTART") or start
    length = _end(event, _time(event, "DTSTART") or begins) - (_time(event, "DTSTART") or begins)
    return Occurrence(
        mark,
        _text(event, "SUMMARY") or "(no title)",
        begins,
        _shifted(begins, length),
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


def invitation(calendar: Calendar) -> bytes:
    """The entry as an invitation that mail programs understand."""
    calendar = Calendar.from_ical(calendar.to_ical())
    calendar.pop("METHOD", None)
    calendar.add("METHOD", "REQUEST")
    return written(calendar)


def written(calendar: Calendar) -> bytes:
    """The entry as the server keeps it, with its time zones."""
    calendar.add_missing_timezones()
    data: bytes = calendar.to_ical()
    return data


def read_rule(text: str) -> Any:
    """`weekly` or an RRULE as a rule. Raises ToolFailed."""
    written_rule = WORDS.get(text.strip().lower(), text.strip().upper().removeprefix("RRULE:"))
    try:
        rule = vRecur.from_ical(written_rule)
    except (ValueError, KeyError, TypeError):
        rule = {}
    if not rule.get("FREQ") or _too_often(rule):
        words = ", ".join(WORDS)
        raise ToolFailed(f"{text[:60]!r} is no repetition: write one of {words}, or an RRULE of at most one per day.")
    return rule


def read_attendees(given: Iterable[str]) -> tuple[str, ...]:
    """E-mail addresses. Raises ToolFailed for anything else."""
    found = []
    for each in given:
        address = each.strip().removeprefix("mailto:")
        name, at, host = address.rpartition("@")
        bad = not (name and at and "." in host) or len(address) > 254 or any(sign in ' ,;:"<>()' for sign in address)
        if bad or not address.isprintable():
            raise ToolFailed(f"{each[:60]!r} is not an e-mail address; ask the user for it.")
        found.append(address)
    if len(found) > 50:
        raise ToolFailed("An event has at most 50 attendees here.")
    return tuple(dict.fromkeys(found))


def _apply(event: Component, changes: Changes, organizer: str) -> None:
    start = _time(event, "DTSTART")
    assert start is not None
    begins = changes.start if changes.start is not None else start
    ends = changes.end if changes.end is not None else _shifted(begins, _end(event, start) - start, begins, start)
    if isinstance(begins, datetime) != isinstance(ends, datetime):
        raise ToolFailed("Give both the start and the end a time, or neither.")
    if ends < begins or (isinstance(begins, datetime) and ends == begins and changes.end is not None):
        raise ToolFailed("The end must be after the start.")
    for name in ("DTSTART", "DTEND", "DURATION"):
        event.pop(name, None)
    event.add("DTSTART", begins)
    event.add("DTEND", ends)
    for name, value in (("SUMMARY", changes.title), ("LOCATION", changes.place), ("DESCRIPTION", changes.notes)):
        if value is not None:
            event.pop(name, None)
            if value:
                event.add(name, value[:MAX_TEXT])
    if changes.attendees is not None:
        event.pop("ATTENDEE", None)
        for address in changes.attendees:
            person = vCalAddress(f"mailto:{address}")
            person.params["RSVP"] = vText("TRUE")
            event.add("ATTENDEE", person, encode=False)
        if changes.attendees and organizer and "ORGANIZER" not in event:
            event.add("ORGANIZER", vCalAddress(f"mailto:{organizer}"), encode=False)
    _touch(event)


def _touch(event: Component) -> None:
    """Note that the event changed, so that other programs take the new version."""
    number = event.pop("SEQUENCE", 0)
    event.add("SEQUENCE", (number if isinstance(number, int) else 0) + 1)
    for name in ("DTSTAMP", "LAST-MODIFIED"):
        event.pop(name, None)
        event.add(name, datetime.now(UTC))


def _move_series(calendar: Calendar, main: Component, start: When) -> None:
    """Move changed and removed repetitions together with the series, whose new first start is `start`."""
    old = _time(main, "DTSTART")
    if type(old) is not type(start) or old is None:
        raise ToolFailed("A repeating event can't change between a whole day and a time. Delete it and make a new one.")
    rule = main.get("RRULE")
    if any(name in (rule or {}) for name in ("BYDAY", "BYMONTHDAY", "BYMONTH")) and _day(old) != _day(start):
        raise ToolFailed("This repeats on fixed days, so only its time can change. Delete it and make a new one.")
    by = _plain(start) - _plain(old)
    for event in calendar.walk("VEVENT"):
        original = _time(event, "RECURRENCE-ID")
        if original is not None:
            event.pop("RECURRENCE-ID")
            event.add("RECURRENCE-ID", _shifted(original, by))
    removed = main.pop("EXDATE", None)
    for each in removed if isinstance(removed, list) else [removed] if removed is not None else []:
        for one in each.dts:
            main.add("EXDATE", _shifted(one.dt, by))


def _original(main: Component, mark: str) -> When:
    """The start of a repetition by its mark, of the type and in the zone of the event. Raises ToolFailed."""
    start = _time(main, "DTSTART")
    try:
        if not isinstance(start, datetime):
            return datetime.strptime(mark, "%Y%m%d").date()
        naive = datetime.strptime(mark, "%Y%m%dT%H%M%S")
    except ValueError:
        raise ToolFailed("There is no such event. List the events again.") from None
    return naive.replace(tzinfo=start.tzinfo)


def _exception(calendar: Calendar, original: When) -> Component | None:
    """The changed repetition that replaces the one at this time."""
    for each in calendar.walk("VEVENT"):
        when = _time(each, "RECURRENCE-ID")
        if when is not None and _mark(when) == _mark(original):
            return each
    return None


def _check_repeats(calendar: Calendar, mark: str, original: When) -> None:
    """Raises ToolFailed unless the event is repeated at this time."""
    zone = (
        original.tzinfo if isinstance(original, datetime) and isinstance(original.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    )
    first = moment(original, zone) - timedelta(days=1)
    copy = Calendar.from_ical(calendar.to_ical())
    if all(each.mark != mark for each in occurrences(copy, first, first + timedelta(days=3), zone)):
        raise ToolFailed("There is no such event. List the events again.")


def _time(event: Component, name: str) -> When | None:
    value = getattr(event.get(name), "dt", None)
    return value if isinstance(value, date) else None


def _end(event: Component, start: When) -> When:
    end, length = _time(event, "DTEND"), getattr(event.get("DURATION"), "dt", None)
    if end is not None and isinstance(end, datetime) == isinstance(start, datetime):
        if isinstance(end, datetime) and isinstance(start, datetime) and (end.tzinfo is None) != (start.tzinfo is None):
            return start
        return max(start, end)
    if isinstance(length, timedelta):
        return _shifted(start, length)
    return start if isinstance(start, datetime) else start + timedelta(days=1)


def _shifted(when: When, by: timedelta, now: When | None = None, before: When | None = None) -> When:
    """`when` later by a duration. If an event turns from a whole day into a time or back, it gets the usual length."""
    if now is not None and isinstance(now, datetime) != isinstance(before, datetime):
        by = timedelta(hours=1) if isinstance(now, datetime) else timedelta(days=1)
    return when + by


def _plain(when: When) -> datetime:
    """The wall-clock time without its zone."""
    return when.replace(tzinfo=None) if isinstance(when, datetime) else datetime(when.year, when.month, when.day)


def _day(when: When) -> date:
    return when.date() if isinstance(when, datetime) else when


def _mark(when: When) -> str:
    return f"{when:%Y%m%dT%H%M%S}" if isinstance(when, datetime) else f"{when:%Y%m%d}"


def _text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return _line(str(value[0] if isinstance(value, list) and value else value), MAX_TEXT)


def _line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"

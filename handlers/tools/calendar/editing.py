"""New calendar entries, and changes of those there are. Like `events`, it is imported when a calendar is first used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

from icalendar import Alarm, Calendar, Component, Event, Timezone, vCalAddress, vRecur, vText

from handlers.tools.calendar.event_times import UNCHANGEABLE, end_of, shifted, start_of, time_of
from handlers.tools.calendar.events import (
    changed_repetition,
    find,
    master,
    occurrences,
    original_start,
    parse,
)
from handlers.tools.calendar.limits import rules_of, too_often
from handlers.tools.calendar.times import When, moment
from routing.errors import ToolFailed

WORDS = {
    "daily": "FREQ=DAILY",
    "weekly": "FREQ=WEEKLY",
    "monthly": "FREQ=MONTHLY",
    "yearly": "FREQ=YEARLY",
    "weekdays": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
}
ONE_KIND = "Give both the start and the end a time, or neither."
_ANEW = "Delete it and make a new one."
_DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYMONTH")
_TIMES = ("BYHOUR", "BYMINUTE", "BYSECOND")
_PRODUCT = "-//tierbot//calendar//EN"


@dataclass(frozen=True, slots=True)
class Changes:
    """What to set; None leaves a field as it is, and a text of spaces removes it."""

    title: str | None = None
    start: When | None = None
    end: When | None = None
    place: str | None = None
    notes: str | None = None
    attendees: Sequence[str] | None = None


def new(changes: Changes, repeat: str, remind_minutes: int, organizer: str, url: str) -> tuple[str, Calendar]:
    """A new entry and its unique id, which is always the same for the same event in the calendar at `url`: a turn that
    begins again makes no second one. Raises ToolFailed."""
    calendar, uid = Calendar(), str(uuid5(NAMESPACE_URL, repr((url, changes, repeat, remind_minutes))))
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


def with_next_uid(calendar: Calendar) -> str:
    """Replace the entry's unique id with the next one, which is derived from it, and return it."""
    event = master(calendar)
    uid = str(uuid5(NAMESPACE_URL, str(event.pop("UID"))))
    event.add("UID", uid)
    return uid


def change(calendar: Calendar, recurrence_id: str, changes: Changes, organizer: str) -> None:
    """Change an event, or with a recurrence id only that repetition. Raises ToolFailed."""
    main = master(calendar)
    if not recurrence_id:
        if changes.start is not None and ("RRULE" in main or "RDATE" in main):
            _move_series(calendar, main, changes.start)
        _apply(main, changes, organizer)
        return
    original = original_start(main, recurrence_id)
    event = changed_repetition(calendar, original)
    if event is None:
        _check_repeats(calendar, recurrence_id, original)
        event = main.copy()
        event.subcomponents = list(main.subcomponents)
        start = start_of(main)
        for name in ("RRULE", "RDATE", "EXDATE", "DURATION", "DTSTART", "DTEND"):
            event.pop(name, None)
        event.add("DTSTART", original)
        event.add("DTEND", shifted(original, end_of(main, start) - start))
        event.add("RECURRENCE-ID", original)
        calendar.add_component(event)
    _apply(event, changes, organizer)


def for_series(parsed: Any, recurrence_id: str, changes: Changes, zone: ZoneInfo) -> Changes:
    """The first start and end of the series, if the repetition with this recurrence id, or without one the first, moves
    to the given ones. It moves by the clock of its own zone. Raises ToolFailed."""
    if changes.start is None and changes.end is None:
        return changes
    here, main = find(parsed, recurrence_id, zone), find(parsed, "", zone)
    own = (main.start.tzinfo if isinstance(main.start, datetime) else None) or zone
    start = here.start if changes.start is None else changes.start
    if len({isinstance(each, datetime) for each in (start, here.start, main.start)}) > 1:
        raise ToolFailed(f"A repeating event can't change between a whole day and a time. {_ANEW}")
    first = shifted(main.start, _wall(start, own) - _wall(here.start, own))
    end = changes.end
    if end is not None:
        if isinstance(end, datetime) != isinstance(start, datetime):
            raise ToolFailed(ONE_KIND)
        end = shifted(first, _wall(end, own) - _wall(start, own))
    return replace(changes, start=None if changes.start is None else first, end=end)


def in_own_time(start: When, changes: Changes, zone: ZoneInfo) -> Changes:
    """The changes without a time zone, by the person's clock, if the event that starts at `start` has none."""
    if not isinstance(start, datetime) or start.tzinfo is not None:
        return changes
    begins, ends = (_wall(each, zone) if isinstance(each, datetime) else each for each in (changes.start, changes.end))
    return replace(changes, start=begins, end=ends)


def _wall(when: When, zone: tzinfo) -> datetime:
    return moment(when, zone).replace(tzinfo=None)


def cancel(calendar: Calendar, recurrence_id: str) -> None:
    """Remove one repetition. Raises ToolFailed."""
    main = master(calendar)
    original = original_start(main, recurrence_id)
    event = changed_repetition(calendar, original)
    if event is not None:
        calendar.subcomponents.remove(event)
    else:
        _check_repeats(calendar, recurrence_id, original)
    main.add("EXDATE", original)
    _touch(main)


def invitation(calendar: Calendar) -> bytes:
    """The entry as an invitation that mail programs understand."""
    request = calendar.copy()
    request.subcomponents = list(calendar.subcomponents)
    request.pop("METHOD", None)
    request.add("METHOD", "REQUEST")
    return written(request)


def written(calendar: Calendar) -> bytes:
    """The entry as the server keeps it, with its time zones."""
    for name in calendar.get_missing_tzids():
        with suppress(ValueError, OSError):  # it is unknown
            calendar.subcomponents.insert(0, Timezone.from_tzid(name))
    data: bytes = calendar.to_ical()
    return data


def read_rule(text: str) -> Any:
    """`weekly` or an RRULE as a rule. Raises ToolFailed."""
    written_rule = WORDS.get(text.strip().lower(), text.strip().upper().removeprefix("RRULE:"))
    try:
        rule = vRecur.from_ical(written_rule)
    except (ValueError, KeyError, TypeError):
        rule = {}
    if not rule.get("FREQ") or too_often(rule):
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
    start = start_of(event)
    begins = changes.start if changes.start is not None else start
    ends = changes.end if changes.end is not None else shifted(begins, end_of(event, start) - start, begins, start)
    if isinstance(begins, datetime) != isinstance(ends, datetime):
        raise ToolFailed(ONE_KIND)
    if ends < begins or (isinstance(begins, datetime) and ends == begins and changes.end is not None):
        raise ToolFailed("The end must be after the start.")
    for name in ("DTSTART", "DTEND", "DURATION"):
        event.pop(name, None)
    event.add("DTSTART", begins)
    event.add("DTEND", ends)
    for name, value in (("SUMMARY", changes.title), ("LOCATION", changes.place), ("DESCRIPTION", changes.notes)):
        if value is not None:
            event.pop(name, None)
            if value.strip():
                event.add(name, value)
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
    """Move what the series has besides its first start, which moves to `start`: its end, changed repetitions, and those
    that are added and removed. Raises ToolFailed."""
    old = start_of(main)
    for rule in rules_of(main):
        _move_rule(rule, old, start)
    for event in calendar.walk("VEVENT"):
        if (original := time_of(event, "RECURRENCE-ID")) is not None:
            replaced: Any = event["RECURRENCE-ID"]
            replaced.dt = _moved(original, old, start)
    for name in ("RDATE", "EXDATE"):
        given: Any = main.get(name, [])
        for each in given if isinstance(given, list) else [given]:
            for one in _times(each):
                one.dt = _moved(one.dt, old, start)


def _move_rule(rule: Any, old: When, start: When) -> None:
    """Moves the end of a rule, and refuses a move that the rule can't follow. Raises ToolFailed."""
    if not isinstance(rule, vRecur):
        raise ToolFailed(f"This repeats by a rule that can't be read, so it can't move. {_ANEW}")
    if any(name in rule for name in _DAYS) and _day(old) != _day(start):
        raise ToolFailed(f"This repeats on fixed days, so only its time can change. {_ANEW}")
    if any(name in rule for name in _TIMES) and _plain(old).time() != _plain(start).time():
        raise ToolFailed(f"This repeats at fixed times, so only its day can change. {_ANEW}")
    if "UNTIL" in rule:
        rule["UNTIL"] = [_moved(each, old, start) for each in rule["UNTIL"]]


def _moved(when: Any, old: When, start: When) -> Any:
    """A day, a time or a period of a series whose first start moves from `old` to `start`, by the clock of its zone."""
    if isinstance(when, tuple):
        return tuple(_moved(each, old, start) for each in when)
    if not isinstance(when, datetime):
        return shifted(when, _day(start) - _day(old)) if isinstance(when, date) else when
    by, zone = _plain(start) - _plain(old), old.tzinfo if isinstance(old, datetime) else None
    if when.tzinfo is None or zone is None:
        return shifted(when, by)
    try:
        return (when.astimezone(zone) + by).astimezone(when.tzinfo)
    except OverflowError:  # it never ends
        return when


def _times(listed: Any) -> list[Any]:
    """The values of one RDATE or EXDATE. Raises ToolFailed."""
    try:
        return list(listed.dts)
    except (AttributeError, ValueError):
        raise ToolFailed(UNCHANGEABLE) from None


def _check_repeats(calendar: Calendar, recurrence_id: str, original: When) -> None:
    """Raises ToolFailed unless the event is repeated at this time."""
    zone = (
        original.tzinfo if isinstance(original, datetime) and isinstance(original.tzinfo, ZoneInfo) else ZoneInfo("UTC")
    )
    first = moment(original, zone) - timedelta(days=1)
    copy = parse(calendar.to_ical().decode())
    found = occurrences(copy, first, first + timedelta(days=3), zone) if copy is not None else None
    if all(each.recurrence_id != recurrence_id for each in found or ()):
        raise ToolFailed("There is no such event. List the events again.")


def _plain(when: When) -> datetime:
    """The wall-clock time without its zone."""
    return when.replace(tzinfo=None) if isinstance(when, datetime) else datetime(when.year, when.month, when.day)


def _day(when: When) -> date:
    return when.date() if isinstance(when, datetime) else when

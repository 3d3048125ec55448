"""Calendar entries and their repetitions (iCalendar, RFC 5545).

It imports icalendar, so it is imported when a calendar is first used. Everything here may take a while; call it in a
thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar, Component, ComponentFactory, Timezone
from icalendar.parser import Contentline, Parameters
from icalendar.parser.ical.calendar import CalendarIcalParser
from icalendar.timezone import TZP

from handlers.tools.calendar.event_times import UNCHANGEABLE, end_of, recurrence_id_of, shifted, start_of, time_of
from handlers.tools.calendar.limits import BROKEN, bound, read_lines, rules_of
from handlers.tools.calendar.times import Span, When, moment
from routing.errors import ToolFailed

MAX_OCCURRENCES = 2_000
MAX_TEXT = 2_000
"""Characters of a title, a place or notes that a model sees."""
MAX_ATTENDEES = 100
"""Maximum number of attendees read from one event."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One event, or one repetition of it. `recurrence_id` is the original start of the repetition; empty if there is
    only one. With `series`, it stands for all repetitions: the start and the end are those of the first, and the
    attendees those of any. The end is exclusive."""

    recurrence_id: str
    title: str
    start: When
    end: When
    place: str
    notes: str
    attendees: tuple[str, ...]
    busy: bool
    series: bool = False

    def span(self, zone: ZoneInfo) -> Span:
        return moment(self.start, zone), moment(self.end, zone)


class _Parser(CalendarIcalParser):
    """Reads times in the zones that the entry itself defines. The library would keep the first definition of each name
    and use it for all entries."""

    def __init__(self, text: str) -> None:
        super().__init__(text, ComponentFactory(), Calendar.types_factory)
        self._defined: dict[str, TZP] = {}
        self._known = TZP()

    def handle_end_component(self, vals: str) -> None:
        ended = self.component
        super().handle_end_component("")  # with the real name, the library would keep the zone for all entries
        if isinstance(ended, Timezone) and "TZID" in ended:
            self._defined.setdefault(ended.tz_name.strip("/"), TZP()).cache_timezone_component(ended)

    def parse_and_add_property(
        self, name: str, params: Parameters, val: str, tzid: str | None, line: Contentline
    ) -> None:
        timed = tzid and all("T" in each for each in val.upper().split(","))  # a day is in no zone
        zone = self._zone(tzid) if tzid and timed else None
        super().parse_and_add_property(name, params, val, zone, line)

    def _zone(self, name: str) -> Any:
        """A time zone; None if it is unknown."""
        try:
            return self._defined.get(name.strip("/"), self._known).timezone(name)
        except OSError:  # the name of a folder of zones, or longer than a file name
            return None


def parse(text: str) -> Calendar | None:
    """An entry as the server keeps it; None if it can't be read."""
    try:
        (found,) = _Parser(read_lines(text)).parse()
    except BROKEN:
        return None
    return found if isinstance(found, Calendar) else None


def occurrences(calendar: Calendar, first: datetime, last: datetime, zone: ZoneInfo) -> list[Occurrence] | None:
    """The repetitions between two moments; None if they can't be read. Entries that repeat too often count once."""
    try:
        calendar.pop("X-WR-TIMEZONE", None)  # the library would move times in UTC to it, also if it is unknown
        bound(calendar, last)
        repeats = any("RRULE" in each or "RDATE" in each for each in calendar.walk("VEVENT"))
        found = recurring_ical_events.of(calendar).between(first, last)
        return list(_listed(found[:MAX_OCCURRENCES], repeats))
    except BROKEN:
        return None


def _listed(found: Sequence[Component], repeats: bool) -> Iterator[Occurrence]:
    for event in found:
        if (start := time_of(event, "DTSTART")) is None or _is_cancelled(event):
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


def repeats(calendar: Calendar) -> bool:
    return any(name in each for each in calendar.walk("VEVENT") for name in ("RRULE", "RDATE", "RECURRENCE-ID"))


def find(calendar: Calendar, recurrence_id: str, zone: ZoneInfo) -> Occurrence:
    """The repetition with this recurrence id; without one the event itself, or the series. Raises ToolFailed."""
    main, series = master(calendar), not recurrence_id and repeats(calendar)
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
        attendees(*calendar.walk("VEVENT")) if series else attendees(event),
        True,
        series,
    )


def is_unchanged(there: Calendar, made: Calendar, zone: ZoneInfo) -> bool:
    """Whether the entry on the server is the new one `made`, and nobody cancelled or changed the event or a repetition
    of it. Servers may add other properties, and the organizer as an attendee. Raises ToolFailed."""
    main = master(there)
    if len(there.walk("VEVENT")) > 1 or "EXDATE" in main or "RDATE" in main or _is_cancelled(main):
        return False
    host = _address(main.get("ORGANIZER", "")).casefold()
    now, before = (
        replace(found, attendees=tuple(sorted({each.casefold() for each in found.attendees} - {host})))
        for found in (find(there, "", zone), find(made, "", zone))
    )
    return now == before and rules_of(main) == rules_of(master(made))


def _is_cancelled(event: Component) -> bool:
    return str(event.get("STATUS", "")).upper() == "CANCELLED"


def attendees(*given: Component) -> tuple[str, ...]:
    """The addresses of the people who are invited to any of these events."""
    found: dict[str, None] = {}
    for event in given:
        people = event.get("ATTENDEE", [])
        for one in (people if isinstance(people, list) else [people])[:MAX_ATTENDEES]:
            found[_address(one)] = None
    return tuple(found)


def _address(person: object) -> str:
    return _line(str(person).removeprefix("mailto:").removeprefix("MAILTO:"), 254)


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


def _text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return _line(str(value[0] if isinstance(value, list) and value else value), MAX_TEXT)


def _line(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}…"

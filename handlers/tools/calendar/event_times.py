"""The start, the end and the recurrence id of a calendar entry (iCalendar, RFC 5545).

Entries of other programs have any times, also of the years 1 and 9999: reading them raises nothing.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from handlers.tools.calendar.times import When
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from icalendar import Component

UNCHANGEABLE = "This entry can't be changed here."


def time_of(event: Component, name: str) -> When | None:
    value = _value(event, name)
    return value if isinstance(value, date) else None


def _value(event: Component, name: str) -> object:
    try:
        return getattr(event.get(name), "dt", None)
    except ValueError:  # what the library could not read
        return None


def start_of(event: Component) -> When:
    """Raises ToolFailed for an entry that some program wrote without a start."""
    start = time_of(event, "DTSTART")
    if start is None:
        raise ToolFailed(UNCHANGEABLE)
    return start


def end_of(event: Component, start: When) -> When:
    """The end of an event that starts then; never before the start."""
    end, length = time_of(event, "DTEND"), _value(event, "DURATION")
    if end is not None and isinstance(end, datetime) == isinstance(start, datetime):
        if isinstance(end, datetime) and isinstance(start, datetime) and (end.tzinfo is None) != (start.tzinfo is None):
            return start
        return max(start, end)
    if not isinstance(length, timedelta):
        length = timedelta(0) if isinstance(start, datetime) else timedelta(days=1)
    return shifted(start, max(length, timedelta(0)))


def shifted(when: When, by: timedelta, now: When | None = None, before: When | None = None) -> When:
    """`when` later by a duration, or `when` itself if that is no date any more. If an event turns from a whole day into
    a time or back, it gets the usual length."""
    if now is not None and isinstance(now, datetime) != isinstance(before, datetime):
        by = timedelta(hours=1) if isinstance(now, datetime) else timedelta(days=1)
    try:
        return when + by
    except OverflowError:
        return when


def recurrence_id_of(when: When) -> str:
    return f"{when:%Y%m%dT%H%M%S}" if isinstance(when, datetime) else f"{when:%Y%m%d}"

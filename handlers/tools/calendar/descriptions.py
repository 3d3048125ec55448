"""Events in words: for models, and in the questions that people confirm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from handlers.languages import Say, languages
from handlers.replies.names import quoted
from handlers.tools.calendar import times
from handlers.tools.calendar.event_times import shifted
from routing.errors import ToolFailed
from routing.types.messages import OutgoingFile
from routing.types.tools import ToolScope

if TYPE_CHECKING:  # imported when a calendar is first used
    from handlers.tools.calendar.events import Occurrence

NOTE_CHARACTERS = 300
MAX_NAMED = 30
"""People in one question."""


def shown(found: Occurrence, calendar: str, identity: str, zone: ZoneInfo) -> dict[str, Any]:
    """An event for a model; without what is empty."""
    whole = not isinstance(found.start, datetime)
    end = shifted(found.end, timedelta(days=-1)) if whole else found.end
    fields = {
        "id": identity,
        "title": found.title,
        "start": times.shown(found.start, zone),
        "end": times.shown(max(end, found.start), zone),
        "all day": whole,
        "repeats": bool(found.recurrence_id) or found.series,
        "place": found.place,
        "attendees": list(found.attendees),
        "notes": _begun(found.notes),
        "calendar": calendar,
    }
    return {name: value for name, value in fields.items() if value}


def _begun(notes: str) -> str:
    left = len(notes) - NOTE_CHARACTERS
    return f"{notes[:NOTE_CHARACTERS]}… [{left:,} more characters]" if left > 0 else notes


def attached(scope: ToolScope, invitation: bytes) -> dict[str, str]:
    """Attach an invitation to the answer, where files can be sent."""
    if not invitation or scope.attach is None:
        return {}
    try:
        scope.attach(OutgoingFile("invitation.ics", "text/calendar; method=REQUEST", invitation))
    except ToolFailed as failed:
        return {"not attached": f"The calendar has the event, but not the answer its invitation. {failed}"}
    return {"attached": "invitation.ics, which the user can forward"}


def people(addresses: Iterable[str]) -> str:
    """Addresses for a question."""
    named = list(addresses)
    more = f" (+{len(named) - MAX_NAMED})" if len(named) > MAX_NAMED else ""
    return ", ".join(map(quoted, named[:MAX_NAMED])) + more


def changing(say: Say, found: Occurrence, addresses: Sequence[str], zone: ZoneInfo) -> str:
    """What the person should know before an event with these people is changed."""
    if found.series:
        words = "This changes “{title}” ({start}) with all its repetitions."
    else:
        words = "This changes “{title}” ({start})."
    return say(words, title=quoted(found.title), start=_start(say, found, zone)) + _invited(say, addresses)


def deleting(say: Say, found: Occurrence, zone: ZoneInfo) -> str:
    """What the person should know before an event is deleted."""
    if found.series:
        words = "This deletes “{title}” ({start}) with all its repetitions from your calendar."
    else:
        words = "This deletes “{title}” ({start}) from your calendar."
    return say(words, title=quoted(found.title), start=_start(say, found, zone)) + _invited(say, found.attendees)


def _invited(say: Say, addresses: Sequence[str]) -> str:
    if not addresses:
        return ""
    return " " + say("{people} are invited; your server may send them an email.", people=people(addresses))


def check_confirmed(scope: ToolScope, question: Callable[[Say], str]) -> None:
    """Raises ToolFailed if the person confirmed something else."""
    if scope.confirmed and all(question(Say(language)) != scope.confirmed for language in languages()):
        raise ToolFailed("The event changed since the user confirmed. Nothing was done: ask again.")


def _start(say: Say, found: Occurrence, zone: ZoneInfo) -> str:
    return say.time(times.moment(found.start, zone))

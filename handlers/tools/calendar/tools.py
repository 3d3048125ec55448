"""Tools for the person's calendar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

from handlers.accounts.accounts import Accounts
from handlers.accounts.dav import CALENDAR, DavServers
from handlers.accounts.dav_items import Item
from handlers.accounts.kinds import ServiceFailed
from handlers.languages import Say
from handlers.replies.names import quoted
from handlers.tools.authoring.decorator import Tools, tool, tools_of
from handlers.tools.authoring.tool import Preview
from handlers.tools.calendar import descriptions, times
from handlers.tools.calendar.server import CalendarServer
from handlers.tools.dependencies import ToolDependencies
from routing.errors import ToolFailed
from routing.ports import Clock
from routing.types.time_zones import time_zone
from routing.types.tools import ToolScope, Traits

if TYPE_CHECKING:  # imported when a calendar is first used
    from handlers.accounts.guarded_session import GuardedSession
    from handlers.tools.calendar.editing import Changes
    from handlers.tools.calendar.events import Occurrence

NAME = "calendar"
KINDS = (CALENDAR,)
READS = Traits(seconds=60.0, private=True)
READS_TIMES = replace(READS, outside=False)
CHANGES = Traits(parallel=False, changes=True, seconds=60.0, private=True)
DELETES = replace(CHANGES, outside=False)
WRITES = replace(DELETES, private=False)
"""Their results repeat nothing but the arguments."""
MAX_LISTED = 100
"""Events in one answer; a search for words or a shorter time finds the others."""
MAX_WRITTEN = 2_000
"""Characters of a title, a place or notes that a model writes."""
MAX_DAYS = 400
MAX_GAPS = 40
T = TypeVar("T")


def build(dependencies: ToolDependencies) -> Tools:
    if dependencies.accounts is None or dependencies.dav is None:
        return ()
    return tools_of(CalendarTools(dependencies.accounts, dependencies.dav, dependencies.clock))


class CalendarTools:
    """Every call logs in again with the account of the person who asks. Texts from the calendar are data."""

    def __init__(self, accounts: Accounts, dav: DavServers, clock: Clock) -> None:
        self._accounts = accounts
        self._dav = dav
        self._clock = clock

    @tool(accounts=KINDS, traits=READS)
    async def list_events(self, scope: ToolScope, start: str = "today", end: str = "", query: str = "") -> object:
        """The events between two times, in order, also repeated ones."""
        zone = await time_zone(scope.time_zone)
        first, last = self._range(start, end, 1, zone)

        def work(server: CalendarServer) -> dict[str, Any]:
            words, unread = query.casefold().split(), list[Item]()
            listed = [
                (found, name, server.event_identity(entry, found.recurrence_id))
                for entry, name, found in server.occurrences(first, last, zone, unread)
                if all(word in f"{found.title} {found.place} {found.notes}".casefold() for word in words)
            ]
            listed.sort(key=lambda each: each[0].span(zone))
            events = [descriptions.shown(found, name, identity, zone) for found, name, identity in listed[:MAX_LISTED]]
            answer: dict[str, Any] = {"from": times.shown(first, zone), "to": times.shown(last, zone), "events": events}
            if len(listed) > MAX_LISTED:
                answer["left out"] = f"{len(listed) - MAX_LISTED} more: ask for a shorter time or for words"
            return answer | _unreadable(unread)

        return await self._with(scope, work)

    @tool(accounts=KINDS, traits=READS_TIMES)
    async def find_free_time(
        self,
        scope: ToolScope,
        start: str,
        end: str = "",
        minutes: int = 60,
        from_hour: int = 9,
        to_hour: int = 18,
    ) -> object:
        """The gaps between events."""
        if not (0 <= from_hour < to_hour <= 24 and 1 <= minutes <= 24 * 60):
            raise ToolFailed("from_hour must be before to_hour, both from 0 to 24, and minutes at least 1.")
        zone = await time_zone(scope.time_zone)
        first, last = self._range(start, end, 1, zone)

        def work(server: CalendarServer) -> dict[str, Any]:
            unread = list[Item]()
            busy = [each.span(zone) for _, _, each in server.occurrences(first, last, zone, unread) if each.busy]
            gaps = times.free(busy, first, last, (from_hour, to_hour), minutes)
            listed = [f"{times.shown(begins, zone)} to {ends:%H:%M}" for begins, ends in gaps[:MAX_GAPS]]
            answer: dict[str, Any] = {"free": listed, "looked at": f"{from_hour}:00 to {to_hour}:00 in {zone.key}"}
            if len(gaps) > MAX_GAPS:
                answer["left out"] = f"{len(gaps) - MAX_GAPS} later ones: ask for a shorter time"
            return answer | _unreadable(unread)

        return await self._with(scope, work)

    async def _asks_to_invite(
        self, scope: ToolScope, title: str, start: str, end: str = "", attendees: Sequence[str] = (), **rest: object
    ) -> str | None:
        """What the person should know before others are invited. What is confirmed is for the time that they saw."""
        _check_lengths({"title": title} | rest)
        if not attendees:
            return None
        fixed = self._fixed(await time_zone(scope.time_zone), start=start, end=end)
        say, people = Say(scope.language), descriptions.people(attendees)
        words = "This puts “{title}” into your calendar and invites {people}; your server may send them an email."
        whole = ", ".join(f"`{each}`" for each in attendees)
        shows = {
            name for name, same in (("title", quoted(title) == f"`{title}`"), ("attendees", people == whole)) if same
        }
        return Preview(say(words, title=quoted(title), people=people), shows, fixed)

    def _fixed(self, zone: ZoneInfo, **given: str) -> dict[str, str]:
        """The times that are given, also if they are read after midnight."""
        return {name: times.exactly(text, zone, self._clock()) for name, text in given.items() if text}

    @tool(accounts=KINDS, traits=WRITES, asks=_asks_to_invite)
    async def create_event(
        self,
        scope: ToolScope,
        title: str,
        start: str,
        end: str = "",
        place: str = "",
        notes: str = "",
        attendees: list[str] | None = None,
        repeat: str = "",
        remind_minutes: int = 0,
        calendar: str = "",
    ) -> object:
        """A new event; with attendees, an invitation is attached to the answer."""
        zone = await time_zone(scope.time_zone)
        if not title.strip():
            raise ToolFailed("The event needs a title.")
        if not 0 <= remind_minutes <= 40_320:
            raise ToolFailed("remind_minutes must be between 0 and 40320 (four weeks).")

        def work(server: CalendarServer) -> tuple[dict[str, Any], bytes]:
            from handlers.tools.calendar import editing, events

            changes = self._changes(zone, title, start, end, place, notes, attendees)
            url, name = server.calendar(calendar, named=scope.private)
            uid, made = editing.new(changes, repeat, remind_minutes, server.organizer, url)
            entry = server.store(url, uid, made, zone)
            found = events.find(made, "", zone)
            invitation = editing.invitation(made) if changes.attendees else b""
            return descriptions.shown(found, name, server.event_identity(entry, ""), zone), invitation

        shown, invitation = await self._with(scope, work)
        return {"created": shown} | descriptions.attached(scope, invitation)

    async def _asks_to_change(
        self,
        scope: ToolScope,
        id: str,
        start: str = "",
        end: str = "",
        attendees: list[str] | None = None,
        series: bool = False,
        **rest: object,
    ) -> str | None:
        """Changing an event with attendees may write to them."""
        _check_lengths(rest)
        found = await self._find(scope, id, series)
        people = _concerned(found, attendees)
        if not people:
            return None
        zone = await time_zone(scope.time_zone)
        fixed = self._fixed(zone, start=start, end=end)
        return Preview(descriptions.changing(Say(scope.language), found, people, zone), ("id",), fixed)

    @tool(accounts=KINDS, traits=CHANGES, asks=_asks_to_change)
    async def update_event(
        self,
        scope: ToolScope,
        id: str,
        title: str = "",
        start: str = "",
        end: str = "",
        place: str = "",
        notes: str = "",
        attendees: list[str] | None = None,
        series: bool = False,
    ) -> object:
        """Changes what is given. Of a repeated event only the one with this id, or with `series` all."""
        zone = await time_zone(scope.time_zone)

        def work(server: CalendarServer) -> tuple[dict[str, Any], bytes]:
            from handlers.tools.calendar import editing, events

            entry, parsed, recurrence_id = server.read_event(id)
            one = "" if series else recurrence_id
            before = events.find(parsed, one, zone)
            concerned = _concerned(before, attendees)
            descriptions.check_confirmed(scope, lambda say: descriptions.changing(say, before, concerned, zone))
            changes = self._changes(zone, title, start, end, place, notes, attendees)
            if before.series:
                changes = editing.for_series(parsed, recurrence_id, changes, zone)
            changes = editing.in_own_time(before.start, changes, zone)
            editing.change(parsed, one, changes, server.organizer)
            found = events.find(parsed, one, zone)
            invitation = editing.invitation(parsed) if found.attendees else b""
            server.replace(entry, editing.written(parsed))
            return descriptions.shown(found, "", server.event_identity(entry, one), zone), invitation

        shown, invitation = await self._with(scope, work)
        return {"changed": shown} | descriptions.attached(scope, invitation)

    async def _asks_to_delete(self, scope: ToolScope, id: str, series: bool = False) -> str:
        found = await self._find(scope, id, series)
        zone = await time_zone(scope.time_zone)
        return Preview(descriptions.deleting(Say(scope.language), found, zone), ("id", "series"))

    @tool(accounts=KINDS, traits=DELETES, asks=_asks_to_delete)
    async def delete_event(self, scope: ToolScope, id: str, series: bool = False) -> str:
        """Deletes an event. Of a repeated one only the one with this id, or with `series` all."""
        zone = await time_zone(scope.time_zone)

        def work(server: CalendarServer) -> str:
            from handlers.tools.calendar import editing, events

            entry, parsed, recurrence_id = server.read_event(id)
            one = "" if series else recurrence_id
            if scope.confirmed:
                found = events.find(parsed, one, zone)
                descriptions.check_confirmed(scope, lambda say: descriptions.deleting(say, found, zone))
            if one:
                editing.cancel(parsed, one)
                server.replace(entry, editing.written(parsed))
            else:
                server.delete(entry)
            return "The event is deleted."

        return await self._with(scope, work)

    async def _find(self, scope: ToolScope, id: str, series: bool) -> Occurrence:
        zone = await time_zone(scope.time_zone)

        def work(server: CalendarServer) -> Occurrence:
            from handlers.tools.calendar import events

            _, parsed, recurrence_id = server.read_event(id)
            return events.find(parsed, "" if series else recurrence_id, zone)

        return await self._with(scope, work)

    async def _with(self, scope: ToolScope, work: Callable[[CalendarServer], T]) -> T:
        """Run `work` in a thread with the person's calendars. Raises ToolFailed."""
        account = await self._accounts.open(scope.person, *KINDS)

        def opened(session: GuardedSession) -> T:
            return work(CalendarServer(session, account.details))

        try:
            return await self._dav.in_session(scope.person, account.details, account.secret, opened)
        except ServiceFailed as failed:
            again = " Tell the user to send /connect calendar." if failed.again == "secret" else ""
            raise ToolFailed(f"The calendar can't be used: {failed.reason}.{again}") from None

    def _range(self, start: str, end: str, days: int, zone: ZoneInfo) -> times.Span:
        first, last = times.read_range(start, end, days, zone, self._clock())
        if last - first > timedelta(days=MAX_DAYS):
            raise ToolFailed(f"That is more than {MAX_DAYS} days; ask for less.")
        return first, last

    def _changes(
        self,
        zone: ZoneInfo,
        title: str,
        start: str,
        end: str,
        place: str,
        notes: str,
        attendees: list[str] | None,
    ) -> Changes:
        from handlers.tools.calendar import editing

        _check_lengths({"title": title, "place": place, "notes": notes})
        now = self._clock()
        begins = times.read_when(start, zone, now) if start else None
        ends = times.read_when(end, zone, now) if end else None
        if ends is not None and not isinstance(ends, datetime):
            ends += timedelta(days=1)  # the last day, included
        people = None if attendees is None else editing.read_attendees(attendees)
        return editing.Changes(title or None, begins, ends, place or None, notes or None, people)


def _check_lengths(given: Mapping[str, object]) -> None:
    """Raises ToolFailed for a text that is too long to be stored in full."""
    for name in ("title", "place", "notes"):
        if (length := len(str(given.get(name, "")))) > MAX_WRITTEN:
            raise ToolFailed(
                f"`{name}` has {length:,} characters, and at most {MAX_WRITTEN:,} are allowed. Shorten it."
            )


def _concerned(found: Occurrence, attendees: Sequence[str] | None) -> list[str]:
    """The people who are or get invited."""
    return [*dict.fromkeys((*found.attendees, *(attendees or ())))]


def _unreadable(entries: Sequence[Item]) -> dict[str, str]:
    """What the answer says about entries that are missing in it."""
    return {"unreadable": f"{len(entries)} in the calendar, missing here"} if entries else {}

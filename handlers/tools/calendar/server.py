"""A person's calendars on their CalDAV server. Everything here blocks; call it in a thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from handlers.accounts.dav import CALENDAR
from handlers.accounts.dav_items import DavItems, Item, ItemChanged
from handlers.accounts.kinds import ServiceFailed
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from handlers.accounts.guarded_session import GuardedSession
    from handlers.tools.calendar.events import Occurrence

logging.getLogger("caldav").setLevel(logging.WARNING)  # at DEBUG it writes whole events
MAX_IDS = 10
"""Maximum number of unique ids tried for a new event. Equal events that were moved or deleted keep theirs."""
LISTING_SECONDS = 45.0
"""After this time no more entries are read: nothing else ends a thread."""


class CalendarServer(DavItems):
    """Each item is an event with all its repetitions. Raises ServiceFailed."""

    noun, ending, mime = "event", ".ics", "text/calendar"

    def __init__(self, session: GuardedSession, details: Mapping[str, str]) -> None:
        super().__init__(session, CALENDAR, details["home"])
        self.organizer = details["user"] if "@" in details["user"] else ""
        """The address of the person who invites; empty if their user name is none."""

    def calendar(self, name: str, named: bool) -> tuple[str, str]:
        """The calendar of this name; without one the first that can be changed. Raises ToolFailed, which names the
        others if `named`."""
        for each in self.collections():
            if not name or each[1].casefold() == name.strip().casefold():
                return each
        names = ", ".join(each[1] for each in self.collections()) or "none"
        raise ToolFailed(f"There is no calendar {name[:60]!r}." + f" There are: {names}." * named)

    def search(self, url: str, first: datetime, last: datetime) -> Iterator[Item]:
        """The entries of a calendar with an event between two moments."""
        import caldav
        from caldav.lib.error import DAVError

        client = caldav.DAVClient(url=self.home)
        client.session.close()
        client.session = self.session
        try:
            found = caldav.Calendar(client=client, url=url).search(start=first, end=last, event=True, expand=False)
        except (DAVError, ValueError, AssertionError, AttributeError, KeyError, SyntaxError):
            raise ServiceFailed("{host} does not answer like a calendar server", host=urlsplit(url).hostname) from None
        for each in found:
            yield Item(str(each.url), str(each.data or ""), "")

    def occurrences(
        self, first: datetime, last: datetime, zone: ZoneInfo, unread: list[Item]
    ) -> Iterator[tuple[Item, str, Occurrence]]:
        """The events of all calendars between two moments: each with its entry and the calendar's name. Entries that
        can't be read go into `unread`. Raises ToolFailed."""
        from handlers.tools.calendar import events

        count, ends = 0, time.monotonic() + LISTING_SECONDS
        for url, name in self.collections():
            for entry in self.search(url, first, last):
                if time.monotonic() > ends:
                    raise ToolFailed("Listing the events takes too long; ask for a shorter time.")
                parsed = events.parse(entry.text)
                listed = None if parsed is None else events.occurrences(parsed, first, last, zone)
                if listed is None:
                    unread.append(entry)
                    continue
                for found in listed:
                    count += 1
                    if count > events.MAX_OCCURRENCES:
                        raise ToolFailed("There are too many events; ask for a shorter time.")
                    yield entry, name, found

    def event_identity(self, entry: Item, recurrence_id: str) -> str:
        """How models name an event: its place, and the repetition after the last `#`."""
        path = self.identity(entry)
        return f"{path}#{recurrence_id}" if recurrence_id or "#" in path else path

    def read_event(self, identity: str) -> tuple[Item, Any, str]:
        """The entry, parsed, and the recurrence id. Raises ToolFailed."""
        from handlers.tools.calendar import events

        identity = identity.strip()
        path, recurrence_id = identity.rsplit("#", 1) if "#" in identity else (identity, "")
        entry = self.read(self.locate(path))
        parsed = events.parse(entry.text)
        if parsed is None:
            raise ToolFailed("This entry can't be read.")
        return entry, parsed, recurrence_id

    def store(self, url: str, uid: str, made: Any, zone: ZoneInfo) -> Item:
        """Stores the new event under the first unused unique id, or returns the equal event that is already there.
        Raises ToolFailed."""
        from handlers.tools.calendar import editing, events

        for _ in range(MAX_IDS - 1):
            try:
                return self.create(url, uid, editing.written(made))
            except ItemChanged:
                with suppress(ToolFailed):  # it was deleted
                    there = self.read(self.place(url, uid))
                    parsed = events.parse(there.text)
                    if parsed is not None and events.is_unchanged(parsed, made, zone):
                        return there
            uid = editing.with_next_uid(made)
        return self.create(url, uid, editing.written(made))

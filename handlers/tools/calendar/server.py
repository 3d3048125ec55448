"""A person's calendars on their CalDAV server. Everything here blocks; call it in a thread."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from handlers.accounts.dav import CALENDAR
from handlers.accounts.dav_items import DavItems, Item
from handlers.accounts.kinds import ServiceFailed
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from handlers.accounts.guarded_session import GuardedSession

logging.getLogger("caldav").setLevel(logging.WARNING)  # at DEBUG it writes whole events


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

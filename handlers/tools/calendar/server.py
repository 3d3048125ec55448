"""A person's calendars on their CalDAV server. Everything here blocks; call it in a thread."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from handlers.accounts.dav import CALENDAR, check_status, collections
from handlers.accounts.kinds import ServiceFailed
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from handlers.accounts.guarded_session import GuardedSession

MAX_CALENDARS = 30
GONE = "There is no such event. List the events again."

logging.getLogger("caldav").setLevel(logging.WARNING)  # at DEBUG it writes whole events


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with all its repetitions, as the server keeps it."""

    url: str
    text: str
    etag: str


class CalendarServer:
    """Reads and writes entries. Raises ServiceFailed."""

    def __init__(self, session: GuardedSession, home: str) -> None:
        self._session = session
        self._home = home
        self._calendars: list[tuple[str, str]] = []

    def calendars(self) -> list[tuple[str, str]]:
        """URL and name of each calendar."""
        if not self._calendars:
            self._calendars = collections(self._session, CALENDAR, self._home)[:MAX_CALENDARS]
        return self._calendars

    def calendar(self, name: str) -> tuple[str, str]:
        """The calendar of this name; without one the first that can be changed. Raises ToolFailed."""
        for each in self.calendars():
            if not name or each[1].casefold() == name.strip().casefold():
                return each
        names = ", ".join(each[1] for each in self.calendars())
        raise ToolFailed(f"There is no calendar {name[:60]!r}. There are: {names or 'none'}.")

    def search(self, url: str, first: datetime, last: datetime) -> Iterator[Entry]:
        """The entries of a calendar with an event between two moments."""
        import caldav
        from caldav.lib.error import DAVError

        client = caldav.DAVClient(url=self._home)
        client.session.close()
        client.session = self._session
        try:
            found = caldav.Calendar(client=client, url=url).search(start=first, end=last, event=True, expand=False)
        except (DAVError, ValueError, AssertionError, AttributeError, KeyError, SyntaxError):
            raise ServiceFailed("{host} does not answer like a calendar server", host=urlsplit(url).hostname) from None
        for each in found:
            yield Entry(str(each.url), str(each.data or ""), "")

    def identity(self, entry: Entry, mark: str) -> str:
        """How models name an event: its place below the calendars' folder, and the repetition."""
        path = unquote(urlsplit(entry.url).path).removeprefix(unquote(urlsplit(self._home).path))
        return f"{path}#{mark}" if mark else path

    def locate(self, identity: str) -> tuple[str, str]:
        """The URL of an event and the mark of the repetition. Raises ToolFailed for one outside the calendars."""
        path, _, mark = identity.strip().partition("#")
        parts = path.split("/")
        if any(unquote(part) in ("", ".", "..") or "/" in unquote(part) for part in parts):
            raise ToolFailed(GONE)
        url = self._home.rstrip("/") + "/" + quote(path)
        if not any(unquote(url).startswith(unquote(calendar)) for calendar, _ in self.calendars()):
            raise ToolFailed(GONE)
        return url, mark

    def read(self, url: str) -> Entry:
        """An entry. Raises ToolFailed if there is none."""
        response = self._session.request("GET", url)
        if response.status_code in (403, 404, 410):
            raise ToolFailed(GONE)
        check_status(response.status_code, url)
        return Entry(url, response.content.decode("utf-8", "replace"), response.headers.get("etag", ""))

    def create(self, calendar: str, uid: str, data: bytes) -> Entry:
        """Store a new entry."""
        url = f"{calendar.rstrip('/')}/{uid}.ics"
        self._write("PUT", url, data, {"If-None-Match": "*"})
        return Entry(url, "", "")

    def replace(self, entry: Entry, data: bytes) -> None:
        """Store a new version of an entry. Raises ToolFailed if it has changed meanwhile."""
        self._write("PUT", entry.url, data, {"If-Match": entry.etag} if entry.etag else {})

    def delete(self, entry: Entry) -> None:
        """Delete an entry with all its repetitions. Raises ToolFailed if it has changed meanwhile."""
        self._write("DELETE", entry.url, None, {"If-Match": entry.etag} if entry.etag else {})

    def _write(self, method: str, url: str, data: bytes | None, headers: dict[str, str]) -> None:
        headers = headers | ({"Content-Type": "text/calendar; charset=utf-8"} if data is not None else {})
        response = self._session.request(method, url, data, headers)
        if response.status_code == 412:
            raise ToolFailed("The event has changed meanwhile. List the events again.")
        if response.status_code == 403:
            raise ToolFailed("The server does not let the user change this calendar.")
        check_status(response.status_code, url)

"""The toolkit for the person's calendar (CalDAV)."""

from handlers.tools.calendar.tools import NAME, build

__all__ = ["NAME", "build"]

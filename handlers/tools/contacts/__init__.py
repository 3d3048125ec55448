"""The toolkit for the person's address book (CardDAV)."""

from handlers.tools.contacts.tools import NAME, build

__all__ = ["NAME", "build"]

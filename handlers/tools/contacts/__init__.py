"""The toolkit for the person's address book (CardDAV)."""

from handlers.tools.contacts.toolkit import NAME, build

__all__ = ["NAME", "build"]

"""A person's address books on their CardDAV server. Everything here blocks; call it in a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from handlers.accounts.dav import CARDDAV, CONTACTS, DAV, multistatus
from handlers.accounts.dav_items import DavItems, Item
from handlers.accounts.kinds import ServiceFailed
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from handlers.accounts.guarded_session import GuardedSession

_FIELDS = ("FN", "N", "NICKNAME", "EMAIL", "ORG", "ADR", "NOTE")
_QUERY = (
    '<?xml version="1.0"?><c:addressbook-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop>'
    "<d:getetag/><c:address-data/></d:prop>{filter}</c:addressbook-query>"
)


class AddressBooks(DavItems):
    """Each item is a contact. Raises ServiceFailed."""

    noun, ending, mime = "contact", ".vcf", "text/vcard"

    def __init__(self, session: GuardedSession, home: str) -> None:
        super().__init__(session, CONTACTS, home)

    def book(self) -> str:
        """The first address book that can be changed. Raises ToolFailed."""
        if not self.collections():
            raise ToolFailed("This account has no address book. Tell the user to send /connect contacts.")
        return self.collections()[0][0]

    def search(self, words: Sequence[str]) -> Iterator[Item]:
        """The contacts that may fit all words; the server looks for the longest one, unless it is a number."""
        longest = max(words, key=len, default="")
        for url, _ in self.collections():
            try:
                found = self._ask(url, "" if longest.isdigit() else longest)
            except ServiceFailed as failed:
                if not longest or failed.again == "start":
                    raise
                found = self._ask(url, "")  # it refuses to filter
            yield from found

    def _ask(self, url: str, word: str) -> list[Item]:
        match = f'<c:text-match collation="i;unicode-casemap" match-type="contains">{escape(word)}</c:text-match>'
        tests = "".join(f'<c:prop-filter name="{name}">{match}</c:prop-filter>' for name in _FIELDS)
        body = _QUERY.format(filter=f'<c:filter test="anyof">{tests}</c:filter>' if word else "<c:filter/>")
        items = []
        for found, properties in multistatus(self.session, "REPORT", url, body, 1):
            data, etag = properties.get((CARDDAV, "address-data")), properties.get((DAV, "getetag"))
            if data is not None and data.text:
                items.append(Item(found, data.text, (etag.text or "") if etag is not None else ""))
        return items

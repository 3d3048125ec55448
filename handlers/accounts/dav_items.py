"""The calendars or address books of an account, and the items in them. Everything here blocks; call it in a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from handlers.accounts.dav import check_status, collections
from routing.errors import ToolFailed

if TYPE_CHECKING:
    from handlers.accounts.guarded_session import GuardedSession

MAX_COLLECTIONS = 30


@dataclass(frozen=True, slots=True)
class Item:
    """An event or a contact as the server keeps it."""

    url: str
    text: str
    etag: str


class ItemChanged(ToolFailed):
    """Another version of the item is on the server."""


class DavItems:
    """Reads and writes single items. Raises ServiceFailed. `noun` names an item for models, `ending` is that of its
    file, and `mime` its type."""

    noun: str
    ending: str
    mime: str

    def __init__(self, session: GuardedSession, kind: str, home: str) -> None:
        self.session = session
        self.home = home
        self._kind = kind
        self._collections: list[tuple[str, str]] = []

    def collections(self) -> list[tuple[str, str]]:
        """URL and name of each calendar or address book; those that can be changed come first."""
        if not self._collections:
            self._collections = collections(self.session, self._kind, self.home)[:MAX_COLLECTIONS]
        return self._collections

    def identity(self, item: Item) -> str:
        """How models name an item: its place below the account's folder."""
        return unquote(urlsplit(item.url).path).removeprefix(unquote(urlsplit(self.home).path))

    def locate(self, identity: str) -> str:
        """The URL of an item. Raises ToolFailed for one outside the account's calendars or address books."""
        parts = [unquote(part) for part in identity.strip().split("/")]
        if any(part in ("", ".", "..") or "/" in part for part in parts):
            raise self.gone()
        url = self.home.rstrip("/") + "/" + quote(identity.strip())
        if not any(unquote(url).startswith(unquote(each)) for each, _ in self.collections()):
            raise self.gone()
        return url

    def read(self, url: str) -> Item:
        """An item. Raises ToolFailed if there is none."""
        response = self.session.request("GET", url)
        if response.status_code in (403, 404, 410):
            raise self.gone()
        check_status(response.status_code, url)
        return Item(url, response.content.decode("utf-8", "replace"), response.headers.get("etag", ""))

    def create(self, collection: str, uid: str, data: bytes) -> Item:
        """Store a new item. Raises ItemChanged if there is one with this unique id; Nextcloud answers 400 to that of a
        deleted one."""
        url = self.place(collection, uid)
        self._write("PUT", url, data, {"If-None-Match": "*"})
        return Item(url, "", "")

    def place(self, collection: str, uid: str) -> str:
        """The URL of the item with this unique id, if it was created here."""
        return f"{collection.rstrip('/')}/{uid}{self.ending}"

    def replace(self, item: Item, data: bytes) -> None:
        """Store a new version of an item. Raises ToolFailed if it has changed meanwhile."""
        self._write("PUT", item.url, data, {"If-Match": item.etag} if item.etag else {})

    def delete(self, item: Item) -> None:
        """Delete an item. Raises ToolFailed if it has changed meanwhile."""
        self._write("DELETE", item.url, None, {"If-Match": item.etag} if item.etag else {})

    def gone(self) -> ToolFailed:
        return ToolFailed(f"There is no such {self.noun}. Look for it again.")

    def _write(self, method: str, url: str, data: bytes | None, headers: dict[str, str]) -> None:
        headers = headers | ({"Content-Type": f"{self.mime}; charset=utf-8"} if data is not None else {})
        response = self.session.request(method, url, data, headers)
        if "If-None-Match" in headers and response.status_code in (400, 409):
            raise ItemChanged(
                f"The server does not store the {self.noun}: its id is in use, or something in it is wrong."
            )
        if response.status_code == 412:
            raise ItemChanged(f"The {self.noun} has changed meanwhile. Look for it again.")
        if response.status_code == 403:
            raise ToolFailed("The server does not let the user change this.")
        check_status(response.status_code, url)

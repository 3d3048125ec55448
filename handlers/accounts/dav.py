"""Accounts with calendar and address book servers (CalDAV, CardDAV): what they ask for, and logging in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit, urlunsplit

from handlers.accounts.kinds import QUOTES, AccountKind, Field, ServiceFailed, Tested, is_host
from handlers.accounts.reachable import Reachable
from routing.errors import Refused
from routing.types.people import Person

if TYPE_CHECKING:  # imported when an account is used
    from handlers.accounts.guarded_session import GuardedSession

CALENDAR, CONTACTS = "calendar", "contacts"
DAV, CALDAV, CARDDAV = "DAV:", "urn:ietf:params:xml:ns:caldav", "urn:ietf:params:xml:ns:carddav"
MAX_URL = 500
SECRET = (
    "What is your password there? If you log in with a second factor, make an app password. I delete your message if I "
    "can."
)
_HOME = {CALENDAR: (CALDAV, "calendar-home-set"), CONTACTS: (CARDDAV, "addressbook-home-set")}
_KIND = {CALENDAR: (CALDAV, "calendar"), CONTACTS: (CARDDAV, "addressbook")}
_WELL_KNOWN = {CALENDAR: "/.well-known/caldav", CONTACTS: "/.well-known/carddav"}

_TYPE, _NAME = (DAV, "resourcetype"), (DAV, "displayname")
_COMPONENTS, _PRIVILEGES = (CALDAV, "supported-calendar-component-set"), (DAV, "current-user-privilege-set")

T = TypeVar("T")
Properties = Mapping[tuple[str, str], Any]
"""The properties of a resource, as XML elements by namespace and name."""


class DavServers:
    """Opens sessions with people's servers."""

    def __init__(self, reachable: Callable[[Person], Reachable]) -> None:
        self._reachable = reachable

    async def in_session(
        self, person: Person, details: Mapping[str, str], secret: str, work: Callable[[GuardedSession], T]
    ) -> T:
        """The result of `work`, run in a thread with a session with an account's server. Raises what it raises."""

        def threaded() -> T:
            from handlers.accounts.guarded_session import GuardedSession  # imports for 0.2 s

            with closing(GuardedSession(self._reachable(person), details["user"], secret)) as session:
                return work(session)

        return await asyncio.to_thread(threaded)

    def kinds(self) -> tuple[AccountKind, ...]:
        """The kinds of account that a calendar server serves."""
        user = Field("user", "What is your user name there? Often it is your e-mail address.", read_user)
        calendar = Field(
            "address",
            "What is the address of your calendar server (CalDAV)? For example `cloud.example.com`, "
            "`https://caldav.icloud.com` or `https://dav.mailbox.org/caldav`. Your provider's help names it.",
            read_address,
        )
        contacts = Field(
            "address",
            "What is the address of your address book server (CardDAV)? For example `cloud.example.com`, "
            "`https://contacts.icloud.com` or `https://dav.mailbox.org/carddav`. Your provider's help names it.",
            read_address,
        )
        return (
            AccountKind(
                CALENDAR, "Calendar", (calendar, user), SECRET, partial(self._tested, CALENDAR), also=("caldav",)
            ),
            AccountKind(
                CONTACTS, "Address book", (contacts, user), SECRET, partial(self._tested, CONTACTS), also=("carddav",)
            ),
        )

    async def _tested(self, kind: str, person: Person, details: Mapping[str, str], secret: str) -> Tested:
        home = await self.in_session(person, details, secret, partial(_tested_home, kind, details["address"]))
        host = urlsplit(home).hostname or details["address"]
        return Tested(f"{details['user']} · {host}", {**details, "home": home})


def read_address(text: str) -> str:
    """`cloud.example.com` → `https://cloud.example.com/`. Raises Refused for what is no web address, also for a single
    word without `https://`, which may be a password."""
    text = text.strip(QUOTES)
    address = "".join(each for each in text if each.isprintable())
    complete = "://" in address
    try:
        parts = urlsplit(address if complete else f"https://{address}")
        usable = parts.scheme in ("https", "http") and not parts.username and parts.port != 0
        usable = usable and is_host(parts.hostname or "", complete or parts.port is not None)
    except ValueError:
        usable = False
    if not usable or len(address) > MAX_URL or any(each.isspace() for each in text):
        raise Refused("That is not a web address like https://cloud.example.com.")
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", parts.query, ""))


def read_user(text: str) -> str:
    """A user name on one line. Raises Refused."""
    if len(text) > 200 or not text.isprintable():
        raise Refused("That is not a user name.")
    return text


def _tested_home(kind: str, address: str, session: GuardedSession) -> str:
    """The URL of the account's calendars or address books. Raises ServiceFailed if there are none."""
    home = find_home(session, kind, address)
    if not collections(session, kind, home):
        words = "this account has no calendar" if kind == CALENDAR else "this account has no address book"
        raise ServiceFailed(words)
    return home


def find_home(session: GuardedSession, kind: str, address: str) -> str:
    """The URL of the collection that contains the account's calendars or address books. Raises ServiceFailed."""
    failed: ServiceFailed | None = None
    for start in (address, urljoin(address, _WELL_KNOWN[kind])):
        try:
            principal = _link(session, start, (DAV, "current-user-principal")) or start
            if home := _link(session, principal, _HOME[kind]):
                return home
        except ServiceFailed as error:
            if error.again == "secret":
                raise
            failed = failed or error
    host = urlsplit(address).hostname
    words = "{host} is not a calendar server" if kind == CALENDAR else "{host} is not an address book server"
    raise failed or ServiceFailed(words, host=host)


def collections(session: GuardedSession, kind: str, home: str) -> list[tuple[str, str]]:
    """The URL and the name of each calendar for events, or of each address book; those that can be changed come first.
    Raises ServiceFailed."""
    found = []
    space, tag = _KIND[kind]
    for url, properties in propfind(session, home, (_TYPE, _NAME, _COMPONENTS, _PRIVILEGES), 1):
        kinds = properties.get(_TYPE)
        if kinds is None or kinds.find(f"{{{space}}}{tag}") is None or not _holds_events(properties.get(_COMPONENTS)):
            continue
        name = properties.get(_NAME)
        text = (name.text if name is not None else "") or url.rstrip("/").rpartition("/")[2]
        found.append((not _writable(properties.get(_PRIVILEGES)), url, " ".join(text.split())))
    return [(url, name) for _, url, name in sorted(found)]


def _holds_events(components: Any) -> bool:
    """Whether a collection may hold events; task lists are calendars, too."""
    return components is None or not len(components) or any(each.get("name") == "VEVENT" for each in components)


def _writable(privileges: Any) -> bool:
    if privileges is None:
        return True
    return any(privileges.find(f".//{{DAV:}}{name}") is not None for name in ("all", "write", "write-content", "bind"))


def propfind(
    session: GuardedSession, url: str, wanted: tuple[tuple[str, str], ...], depth: int
) -> list[tuple[str, Properties]]:
    """The properties of a resource, and with depth 1 of those in it, by URL. Raises ServiceFailed."""
    asked = "".join(f'<p{at}:{name} xmlns:p{at}="{space}"/>' for at, (space, name) in enumerate(wanted))
    body = f'<?xml version="1.0"?><d:propfind xmlns:d="DAV:"><d:prop>{asked}</d:prop></d:propfind>'
    return multistatus(session, "PROPFIND", url, body, depth)


def multistatus(session: GuardedSession, method: str, url: str, body: str, depth: int) -> list[tuple[str, Properties]]:
    """The resources in the answer to a WebDAV request, by absolute URL. Raises ServiceFailed."""
    from lxml import etree

    from handlers.accounts.guarded_session import joined

    headers = {"Depth": str(depth), "Content-Type": "application/xml; charset=utf-8"}
    response = session.request(method, url, body.encode(), headers)
    check_status(response.status_code, url)
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        tree = etree.fromstring(response.content, parser)
    except (etree.XMLSyntaxError, ValueError):
        raise ServiceFailed("{host} does not answer like a calendar server", host=urlsplit(url).hostname) from None
    found = []
    for each in tree.findall("{DAV:}response"):
        href = each.findtext("{DAV:}href") or ""
        properties: Properties = {
            _name(prop.tag): prop
            for prop in each.iterfind("{DAV:}propstat/{DAV:}prop/*")
            if isinstance(prop.tag, str) and prop.tag.startswith("{")
        }
        found.append((joined(url, str(href)), properties))
    return found


def check_status(status: int, url: str) -> None:
    """Raises ServiceFailed unless the answer is a success."""
    host = urlsplit(url).hostname
    if status in (401, 403):
        words = "{host} refuses the user name or the password; many providers want an app password here"
        raise ServiceFailed(words, again="secret", host=host)
    if status >= 500:
        raise ServiceFailed(
            "{host} has a problem of its own (HTTP {status}); try again later", host=host, status=status
        )
    if not 200 <= status < 300:
        raise ServiceFailed("{host} is not a calendar server (HTTP {status})", host=host, status=status)


def _link(session: GuardedSession, url: str, name: tuple[str, str]) -> str:
    """The URL in a property of a resource on the same host; empty if it has none."""
    from handlers.accounts.guarded_session import joined

    for _, properties in propfind(session, url, (name,), 0):
        element = properties.get(name)
        href = element.findtext("{DAV:}href") if element is not None else None
        if href:
            return joined(url, str(href))
    return ""


def _name(tag: str) -> tuple[str, str]:
    """`{DAV:}href` → `("DAV:", "href")`."""
    space, _, name = tag[1:].partition("}")
    return space, name

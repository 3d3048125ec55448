"""Reads a mailbox over IMAP: searches on the server, and fetches only the parts that are needed.

Nothing is ever marked as read. Everything here blocks; call it in a thread."""

from __future__ import annotations

import imaplib
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, LoginError

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.tools.email.message import Header, Part, parts_of_message
from handlers.tools.email.servers import IMAP_PORT, Session, parse_server, session
from routing.errors import ToolFailed

MAX_SESSION_BYTES = 60 * 2**20
MAX_TEXT_BYTES = 400_000
"""Of the text of a mail, as it is sent."""
MAX_TEXT_PARTS = 20
"""Text parts of a mail that are read; the others are listed as attachments."""
MAX_ATTACHMENT_BYTES = 25 * 2**20
"""What most providers let through, decoded."""
MAX_NAMED_FOLDERS = 40
INBOX = "INBOX"
_HEADERS = b"BODY[HEADER.FIELDS (FROM TO CC REPLY-TO SUBJECT DATE MESSAGE-ID REFERENCES)]"
_ASK_HEADERS = "BODY.PEEK[HEADER.FIELDS (FROM TO CC REPLY-TO SUBJECT DATE MESSAGE-ID REFERENCES)]"
_TERM = re.compile(r'(?:(from|to|cc|subject|body|since|before|is|has):)?(?:"([^"]*)"|(\S+))', re.IGNORECASE)
_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\{}()%*]')
"""Left out of searches: they have a meaning in the protocol."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A mail in a list. `id` is what `read_email` takes."""

    id: str
    header: Header
    size: int
    unread: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A mail with its text and its attachments. `is_cut`: the text is longer. Attachments are also texts of which
    nothing is in `text`, unless they are alternatives to it. `left_out`: number of parts beyond MAX_PARTS."""

    id: str
    header: Header
    size: int
    text: str
    is_cut: bool
    attachments: tuple[Part, ...]
    left_out: int


class _Imap(imaplib.IMAP4):
    """A connection of imaplib that uses a checked connection and reads a bounded number of bytes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._left = MAX_SESSION_BYTES
        super().__init__(session.server.host, session.server.port)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        return self._session.connect()

    def read(self, size: int) -> bytes:
        self._count(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._count(len(line))
        return line

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise self.abort("the answer is too large")


class _Client(IMAPClient):  # type: ignore[misc] # the library has no types
    def __init__(self, session: Session) -> None:
        self._session = session
        super().__init__(session.server.host, session.server.port, ssl=session.server.tls)

    def _create_IMAP4(self) -> imaplib.IMAP4:
        return _Imap(self._session)


class Mailbox:
    """An open mailbox."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def search(self, query: str, folder: str, count: int) -> tuple[int, list[Listed]]:
        """How many mails match, and the newest `count` of them."""
        total = self._select(folder)
        if not query.strip():
            if not total:
                return 0, []
            self._client.use_uid = False
            numbers = self._client.fetch([*range(max(1, total - count + 1), total + 1)], ["UID"])
            self._client.use_uid = True
            found = sorted(each[b"UID"] for each in numbers.values() if b"UID" in each)
        else:
            found = sorted(self._client.search(criteria(query), "UTF-8" if not query.isascii() else None))
            total = len(found)
        newest = found[-count:]
        fetched = self._client.fetch(newest, [_ASK_HEADERS, "FLAGS", "RFC822.SIZE"]) if newest else {}
        mails = [
            Listed(
                f"{folder}/{uid}",
                Header.of(data.get(_HEADERS, b"")),
                data.get(b"RFC822.SIZE", 0),
                b"\\Seen" not in data.get(b"FLAGS", ()),
            )
            for uid, data in fetched.items()
        ]
        return total, sorted(mails, key=lambda mail: -int(mail.id.rpartition("/")[2]))

    def open(self, id: str) -> Opened:
        """A mail with the beginning of its text. Raises ToolFailed if it does not exist."""
        uid = self._select_of(id)
        found = self._client.fetch([uid], [_ASK_HEADERS, "BODYSTRUCTURE", "RFC822.SIZE"]).get(uid)
        if not found:
            raise ToolFailed("There is no mail with this id any more: search again.")
        parts, left_out = parts_of_message(found.get(b"BODYSTRUCTURE"))
        texts, left = dict[Part, str](), MAX_TEXT_BYTES
        written = set[str]()
        shown = [part for part in parts if part.is_text and not part.attached]
        for part in sorted(shown, key=lambda part: part.subtype != "plain"):
            if (part.choice in written and part.subtype == "html") or left <= 0 or len(texts) >= MAX_TEXT_PARTS:
                continue
            content = self._part(uid, part, left)
            left -= len(content)
            texts[part] = part.readable(content).strip()
            if part.choice and part.subtype == "plain" and texts[part]:
                written.add(part.choice)
        text = "\n\n".join(texts[part] for part in shown if texts.get(part))
        others = (part for part in parts if part not in texts and not (part in shown and part.choice in written))
        header, size = Header.of(found.get(_HEADERS, b"")), found.get(b"RFC822.SIZE", 0)
        return Opened(id, header, size, text, left <= 0, tuple(others), left_out)

    def attachment(self, id: str, part: Part) -> bytes:
        """The decoded content. Raises ToolFailed if it is too large."""
        if part.size > 1.4 * MAX_ATTACHMENT_BYTES:
            raise ToolFailed(f"{part.name} is larger than {MAX_ATTACHMENT_BYTES // 2**20} MB, so it was not saved.")
        return part.decoded(self._part(self._select_of(id), part, int(1.4 * MAX_ATTACHMENT_BYTES) + 1))

    def keep_sent(self, message: bytes) -> None:
        """Put a sent mail into the folder for sent mail, if there is one."""
        folder = self._client.find_special_folder(b"\\Sent")
        if folder:
            self._client.append(folder, message, (b"\\Seen",))

    def _part(self, uid: int, part: Part, most: int) -> bytes:
        found = self._client.fetch([uid], [f"BODY.PEEK[{part.number}]<0.{most}>"]).get(uid, {})
        content = found.get(f"BODY[{part.number}]<0>".encode(), b"")
        return content if isinstance(content, bytes) else b""

    def _select_of(self, id: str) -> int:
        folder, _, number = id.rpartition("/")
        if not folder or not number.isascii() or not number.isdecimal() or len(number) > 10:
            raise ToolFailed("This is no id of a mail: use one from search_email, such as INBOX/1234.")
        self._select(folder)
        return int(number)

    def _select(self, folder: str) -> int:
        """Open a folder for reading only; returns the number of mails in it."""
        if not folder.isprintable() or len(folder) > 200:
            raise ToolFailed("This is no name of a folder.")
        try:
            return int(self._client.select_folder(folder, readonly=True)[b"EXISTS"])
        except (IMAPClientError, KeyError):
            names = [str(name) for _, _, name in self._client.list_folders()][:MAX_NAMED_FOLDERS]
            raise ToolFailed(f"There is no folder {folder[:60]}. There are: {', '.join(names)}.") from None


@contextmanager
def opened(server: str, user: str, secret: str, reachable: Reachable) -> Iterator[Mailbox]:
    """Log in. Raises ServiceFailed; what the server's answers can't be used for becomes one, too."""
    place = parse_server(server, IMAP_PORT)
    with session(place, reachable) as made:
        try:
            client = _Client(made)
            try:
                if not place.tls:
                    if client.has_capability("STARTTLS"):
                        client.starttls(made.context)
                    else:
                        made.plain()
                _login(client, user, secret, place.host)
                yield Mailbox(client)
                with suppress(IMAPClientError, OSError):
                    client.logout()
            finally:
                with suppress(OSError):  # closed already
                    client._imap.shutdown()
        except (imaplib.IMAP4.error, IMAPClientError) as error:
            if made.expired:
                raise TimeoutError from None
            words = "{host} refuses this ({reason})"
            raise ServiceFailed(words, host=place.host, reason=_plain(error)) from None
        except OSError:  # some of them are ValueErrors, too
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise ServiceFailed("{host} sends answers that make no sense", host=place.host) from None


def _login(client: Any, user: str, secret: str, host: str) -> None:
    try:
        if user.isascii() and secret.isascii():
            client.login(user, secret)
        else:
            client.plain_login(user, secret)
    except LoginError:
        raise ServiceFailed("{host} refuses this user name and password", again="secret", host=host) from None


def _plain(error: Exception) -> str:
    text = str(error)
    return "".join(sign if sign.isprintable() else " " for sign in text[:200])


def criteria(query: str) -> list[Any]:
    """IMAP search keys: words, "phrases", and from: to: cc: subject: body: since: before: is:unread has:attachment.
    All have to match. Raises ToolFailed."""
    found: list[Any] = []
    for field, quoted, word in _TERM.findall(query[:500]):
        name, text = field.lower(), " ".join(_SPECIAL.sub(" ", quoted or word).split())
        if not text:
            continue
        if name in ("since", "before"):
            found += [name.upper(), _day(text)]
        elif name == "is" and text.lower() in ("unread", "unseen", "read", "flagged", "starred", "answered"):
            found.append({"unread": "UNSEEN", "read": "SEEN", "starred": "FLAGGED"}.get(text.lower(), text.upper()))
        elif name == "has":
            found += ["HEADER", "Content-Type", "multipart/mixed"]
        elif name and name != "is":
            found += [name.upper(), text]
        else:
            found += ["TEXT", text]
    return found or ["ALL"]


def _day(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise ToolFailed(f"{text[:30]} is no date: write it like 2026-03-31.") from None


def names(parts: Sequence[Part]) -> str:
    """Attachments on one line."""
    return ", ".join(f"{part.name} ({part.size:,} bytes)" for part in parts)

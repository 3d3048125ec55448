"""Writes mails and sends them over SMTP. Sending blocks; call it in a thread."""

from __future__ import annotations

import mimetypes
import re
import smtplib
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, getaddresses, make_msgid

from handlers.accounts.kinds import ServiceFailed
from handlers.accounts.reachable import Reachable
from handlers.tools.email.message import one_line
from handlers.tools.email.servers import SMTP_PORT, Session, parse_server, session
from routing.errors import ToolFailed

MAX_RECIPIENTS = 20
MAX_SUBJECT_CHARACTERS, MAX_BODY_CHARACTERS = 300, 100_000
MAX_ATTACHED_BYTES = 18 * 2**20
"""Of all attachments together. Encoded, they are a third larger, and most providers take 25 MB."""
_USUAL = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{1,63}){0,9})"
)
_BROKEN = re.compile(r"<[^<>]*\s")


@dataclass(frozen=True, slots=True)
class Attached:
    """A file that goes with a mail."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A mail before it is sent. `in_reply_to` and `references` are message ids of the mail that it answers."""

    sender: str
    name: str
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    subject: str
    body: str
    attached: Sequence[Attached] = ()
    in_reply_to: str = ""
    references: str = ""

    def message(self, now: datetime) -> EmailMessage:
        """The mail as it is sent."""
        message = EmailMessage(policy=SMTP)
        local, _, domain = self.sender.rpartition("@")
        message["From"] = Address(self.name, local, domain)
        message["To"] = self.to
        if self.cc:
            message["Cc"] = self.cc
        message["Subject"] = self.subject
        message["Date"] = format_datetime(now)
        message["Message-ID"] = make_msgid(domain=domain)
        if self.in_reply_to:
            message["In-Reply-To"] = self.in_reply_to
            message["References"] = f"{self.references} {self.in_reply_to}".strip()
        message.set_content(self.body)
        for each in self.attached:
            kind, _, subtype = (mimetypes.guess_type(each.name)[0] or "application/octet-stream").partition("/")
            message.add_attachment(each.content, maintype=kind, subtype=subtype, filename=each.name)
        return message


def recipients(text: str, what: str) -> tuple[Address, ...]:
    """Addresses separated by commas, also in the form `Bob <bob@example.com>`. Raises ToolFailed."""
    if not text.isprintable() or _BROKEN.search(text):
        raise ToolFailed(f"{what} holds no valid address. Write bob@example.com, with commas between several.")
    found = []
    for name, address in getaddresses([text[:5_000]]):
        if not _USUAL.fullmatch(address):
            raise ToolFailed(f"{what} holds no valid address: {(address or text)[:100]!r}. Write bob@example.com.")
        local, _, domain = address.rpartition("@")
        found.append(Address(one_line(name).strip()[:100], local, domain))
    if len(found) > MAX_RECIPIENTS:
        raise ToolFailed(f"A mail may have at most {MAX_RECIPIENTS} recipients.")
    return tuple(found)


def checked_subject(text: str) -> str:
    """A subject on one line. Raises ToolFailed for one that is too long."""
    plain = " ".join(one_line(text).split())
    if len(plain) > MAX_SUBJECT_CHARACTERS:
        raise ToolFailed(f"The subject is longer than {MAX_SUBJECT_CHARACTERS} characters: shorten it.")
    return plain


def send(message: EmailMessage, server: str, user: str, secret: str, reachable: Reachable) -> tuple[str, ...]:
    """Send a mail; returns the recipients that the server refused. Raises ServiceFailed if it took none."""
    place = parse_server(server, SMTP_PORT)
    with session(place, reachable) as made:
        try:
            client = _logged_in(made, user, secret)
            refused = client.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            raise ServiceFailed(
                "{host} refuses the recipients: {names}", host=place.host, names=", ".join(error.recipients)
            ) from None
        except smtplib.SMTPException as error:
            raise _failure(made, error) from None
        return tuple(refused)


def check_login(server: str, user: str, secret: str, reachable: Reachable) -> None:
    """Log in without sending anything. Raises ServiceFailed."""
    with session(parse_server(server, SMTP_PORT), reachable) as made:
        try:
            _logged_in(made, user, secret)
        except smtplib.SMTPException as error:
            raise _failure(made, error) from None


class _Smtp(smtplib.SMTP):
    """A client that uses a checked connection."""

    def __init__(self, session: Session) -> None:
        self._session = session
        super().__init__(session.server.host, session.server.port, "localhost")

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._session.connect()


def _logged_in(made: Session, user: str, secret: str) -> smtplib.SMTP:
    client = _Smtp(made)
    client.ehlo_or_helo_if_needed()
    if not made.server.tls:
        if client.has_extn("starttls"):
            client.starttls(context=made.context)
            client.ehlo()
        else:
            made.plain()
    client.login(user, secret)
    return client


def _failure(made: Session, error: smtplib.SMTPException) -> ServiceFailed | TimeoutError:
    host = made.server.host
    if made.expired:
        return ServiceFailed("{host} does not answer in time", host=host)
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return ServiceFailed("{host} refuses this user name and password", again="secret", host=host)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return ServiceFailed("{host} offers no login with a password", host=host)
    if isinstance(error, smtplib.SMTPResponseException):
        answer = error.smtp_error if isinstance(error.smtp_error, str) else error.smtp_error.decode("utf-8", "replace")
        return ServiceFailed("{host} refuses this ({reason})", host=host, reason=one_line(answer)[:200])
    return ServiceFailed("{host} broke the connection", host=host)

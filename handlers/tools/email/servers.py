"""Mail servers: those of well-known providers, and connections to them.

Everything here blocks; call it in a thread."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from handlers.accounts.kinds import QUOTES, ServiceFailed, is_host
from handlers.accounts.reachable import Reachable
from routing.errors import Reason, Refused, system_reason

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 20.0
"""How long a server may send nothing."""
SESSION_SECONDS = 60.0
"""Maximum time of one session with a server."""
IMAP_PORT, SMTP_PORT = 993, 465
_TLS_PORTS = (IMAP_PORT, SMTP_PORT)
_ADDRESS = re.compile(
    r"(?:(?P<tls>imaps|smtps)://)?(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}))(?::(?P<port>\d{1,5}))?"
)

PROVIDERS: dict[str, tuple[str, str]] = {
    "gmail.com": ("imap.gmail.com", "smtp.gmail.com"),
    "googlemail.com": ("imap.gmail.com", "smtp.gmail.com"),
    "gmx.de": ("imap.gmx.net", "mail.gmx.net"),
    "gmx.net": ("imap.gmx.net", "mail.gmx.net"),
    "gmx.at": ("imap.gmx.net", "mail.gmx.net"),
    "gmx.ch": ("imap.gmx.net", "mail.gmx.net"),
    "gmx.com": ("imap.gmx.com", "mail.gmx.com"),
    "web.de": ("imap.web.de", "smtp.web.de"),
    "t-online.de": ("secureimap.t-online.de", "securesmtp.t-online.de"),
    "freenet.de": ("mx.freenet.de", "mx.freenet.de"),
    "posteo.de": ("posteo.de", "posteo.de"),
    "posteo.net": ("posteo.de", "posteo.de"),
    "mailbox.org": ("imap.mailbox.org", "smtp.mailbox.org"),
    "icloud.com": ("imap.mail.me.com", "smtp.mail.me.com:587"),
    "me.com": ("imap.mail.me.com", "smtp.mail.me.com:587"),
    "mac.com": ("imap.mail.me.com", "smtp.mail.me.com:587"),
    "yahoo.com": ("imap.mail.yahoo.com", "smtp.mail.yahoo.com"),
    "yahoo.de": ("imap.mail.yahoo.com", "smtp.mail.yahoo.com"),
    "yahoo.fr": ("imap.mail.yahoo.com", "smtp.mail.yahoo.com"),
    "yahoo.co.uk": ("imap.mail.yahoo.com", "smtp.mail.yahoo.com"),
    "aol.com": ("imap.aol.com", "smtp.aol.com"),
    "fastmail.com": ("imap.fastmail.com", "smtp.fastmail.com"),
    "zoho.com": ("imap.zoho.com", "smtp.zoho.com"),
    "zoho.eu": ("imap.zoho.eu", "smtp.zoho.eu"),
    "yandex.ru": ("imap.yandex.ru", "smtp.yandex.ru"),
    "yandex.com": ("imap.yandex.com", "smtp.yandex.com"),
    "mail.ru": ("imap.mail.ru", "smtp.mail.ru"),
    "orange.fr": ("imap.orange.fr", "smtp.orange.fr"),
    "free.fr": ("imap.free.fr", "smtp.free.fr"),
    "libero.it": ("imapmail.libero.it", "smtp.libero.it"),
    "wp.pl": ("imap.wp.pl", "smtp.wp.pl"),
    "naver.com": ("imap.naver.com", "smtp.naver.com"),
    "163.com": ("imap.163.com", "smtp.163.com"),
    "qq.com": ("imap.qq.com", "smtp.qq.com"),
}
"""IMAP and SMTP servers by the domain of the address, as the providers' help pages name them."""
MICROSOFT = ("outlook.com", "outlook.de", "hotmail.com", "hotmail.de", "hotmail.fr", "live.com", "live.de", "msn.com")
"""Since September 2024, Microsoft's servers refuse passwords, also app passwords."""


@dataclass(frozen=True, slots=True)
class Server:
    """With `tls`, the connection begins with TLS; otherwise STARTTLS follows."""

    host: str
    port: int
    tls: bool


def parse_server(text: str, default_port: int) -> Server:
    """`imap.example.com`, with a port if it is another one, and with `imaps://` or `smtps://` for TLS at an unusual
    port. Raises Refused."""
    found = _ADDRESS.fullmatch(text.strip(QUOTES))
    port = int(found["port"] or default_port) if found else 0
    if found is None or not 0 < port < 65536 or not is_host(found["host"], bool(found["tls"] or found["port"])):
        raise Refused("That is not a server like mail.example.com or mail.example.com:587.")
    return Server(found["host"].lower(), port, bool(found["tls"]) or port in _TLS_PORTS)


class Session:
    """Connections to one server, which end after SESSION_SECONDS."""

    def __init__(self, server: Server, reachable: Reachable) -> None:
        self.server = server
        self.context = ssl.create_default_context()
        self._reachable = reachable
        self._address = ""
        self._socket: socket.socket | None = None
        self.expired = False

    def connect(self) -> socket.socket:
        """A connection to a checked address, with TLS if the server begins with it. Raises ServiceFailed or OSError."""
        host, port, error = self.server.host, self.server.port, OSError()
        for address in self._reachable.addresses(host, port, True):
            try:
                connection = socket.create_connection((address, port), CONNECT_SECONDS)
            except OSError as failed:
                error = failed
                continue
            connection.settimeout(SILENT_SECONDS)
            self._socket, self._address = connection.dup(), address
            return self.context.wrap_socket(connection, server_hostname=host) if self.server.tls else connection
        raise error

    def plain(self) -> None:
        """Raises ServiceFailed unless this server may be used without TLS."""
        if not self._reachable.allows(self.server.host, self._address, False):
            raise ServiceFailed("{host} offers no TLS, so no password is sent there", host=self.server.host)

    def end(self) -> None:
        """Break the connection: a thread that waits for it fails."""
        ended, self._socket = self._socket, None  # the timer may call this at the same time
        if ended is not None:
            with suppress(OSError):
                ended.shutdown(socket.SHUT_RDWR)
            ended.close()

    def expire(self) -> None:
        self.expired = True
        self.end()


@contextmanager
def session(server: Server, reachable: Reachable) -> Iterator[Session]:
    """A session with a time limit. Its network errors become ServiceFailed."""
    made, host = Session(server, reachable), server.host
    watch = threading.Timer(SESSION_SECONDS, made.expire)
    watch.daemon = True
    watch.start()
    try:
        yield made
    except ssl.SSLCertVerificationError as error:
        raise ServiceFailed(
            "the certificate of {host} is not valid ({reason})", host=host, reason=error.verify_message
        ) from None
    except ssl.SSLError:
        raise ServiceFailed("{host} does not speak TLS at port {port}", host=host, port=str(server.port)) from None
    except TimeoutError:
        raise ServiceFailed("{host} does not answer in time", host=host) from None
    except OSError as error:
        if made.expired:
            raise ServiceFailed("{host} does not answer in time", host=host) from None
        why = system_reason(error) if error.errno else Reason("it broke the connection")
        raise ServiceFailed("{host} can't be reached ({reason})", host=host, reason=why) from None
    finally:
        watch.cancel()
        made.end()

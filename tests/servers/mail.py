"""Mail servers on loopback with TLS: the real Dovecot for IMAP, and aiosmtpd for SMTP."""

from __future__ import annotations

import datetime
import grp
import ipaddress
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.ports import free_port

HOST, PASSWORD = "127.0.0.1", "correct-horse-battery"
DOVECOT = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Certificate:
    """A certificate for 127.0.0.1 that signs itself; clients trust it through SSL_CERT_FILE."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
        now = datetime.datetime.now(datetime.UTC)
        names = [x509.IPAddress(ipaddress.ip_address(HOST))]
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.path, self.key = folder / "certificate.pem", folder / "key.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8
        self.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))

    def server_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.path, self.key)
        return context


_CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
disable_plaintext_auth = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 0
mail_location = maildir:~/Maildir
auth_failure_delay = 0
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home/%u
}}
namespace inbox {{
  inbox = yes
  mailbox Sent {{
    auto = create
    special_use = \\Sent
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  process_min_avail = 0
  inet_listener imap {{
    port = {plain}
  }}
  inet_listener imaps {{
    port = {encrypted}
    ssl = yes
  }}
}}
service stats {{
  chroot =
}}
"""


class Dovecot:
    """The real IMAP server. Every user exists, with the same password. `plain` is the port with STARTTLS."""

    def __init__(self, folder: Path, certificate: Certificate) -> None:
        assert DOVECOT is not None
        self.folder = folder
        self.plain, self.encrypted = free_port(), free_port()
        owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        self._owner = (owner.pw_uid, owner.pw_gid)
        (folder / "home").mkdir(mode=0o777)
        os.chown(folder / "home", *self._owner)
        configuration = folder / "dovecot.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                folder=folder,
                certificate=certificate.path,
                key=certificate.key,
                password=PASSWORD,
                user=owner.pw_name,
                group=grp.getgrgid(owner.pw_gid).gr_name,
                uid=owner.pw_uid,
                gid=owner.pw_gid,
                plain=self.plain,
                encrypted=self.encrypted,
            )
        )
        self._process = subprocess.Popen(
            [DOVECOT, "-F", "-c", str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait()

    @property
    def imaps(self) -> str:
        return f"imaps://{HOST}:{self.encrypted}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text() if (self.folder / "log").exists() else ""

    def _wait(self) -> None:
        for _ in range(2_000):
            try:
                with socket.create_connection((HOST, self.encrypted), 5):
                    return
            except OSError:
                assert self._process.poll() is None, self.log
                time.sleep(0.01)
        raise AssertionError(self.log)

    def deliver(self, user: str, messages: Iterable[EmailMessage | bytes], read: bool = False) -> None:
        """Puts mails into the user's inbox, as files, in order."""
        box = self.folder / "home" / user / "Maildir"
        for name in ("cur", "new", "tmp"):
            (box / name).mkdir(parents=True, exist_ok=True)
        begun = len([*(box / "new").iterdir(), *(box / "cur").iterdir()])
        for number, message in enumerate(messages, begun):
            content = message if isinstance(message, bytes) else message.as_bytes()
            name = f"{1_700_000_000 + number}.M{number}P1.test"
            path = box / "cur" / f"{name}:2,S" if read else box / "new" / name
            path.write_bytes(content)
            os.chown(path, *self._owner)
        for path in (box.parent, box, *box.iterdir()):
            os.chown(path, *self._owner)

    def flags(self, user: str) -> list[str]:
        """The flags of the mails in the user's inbox, such as `S` for one that was read."""
        box = self.folder / "home" / user / "Maildir"
        return [path.name.partition(":2,")[2] for name in ("cur", "new") for path in (box / name).iterdir()]

    def sent(self, user: str) -> list[str]:
        """What lies in the folder for sent mail."""
        box = self.folder / "home" / user / "Maildir" / ".Sent"
        return [path.read_text() for name in ("cur", "new") for path in sorted((box / name).glob("*"))]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@contextmanager
def dovecot() -> Iterator[tuple[Dovecot, Certificate]]:
    """Dovecot in a folder that its unprivileged processes can reach."""
    with tempfile.TemporaryDirectory(prefix="tierbot-dovecot-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        certificate = Certificate(folder)
        server = Dovecot(folder, certificate)
        try:
            yield server, certificate
        finally:
            server.close()


class SmtpServer:
    """Takes mails from everybody with the password; `sent` are the envelopes. Recipients at `refused.example` are
    refused."""

    def __init__(self, certificate: Certificate, starttls: bool = False, encrypted: bool = True) -> None:
        context = certificate.server_context() if encrypted else None
        port = free_port()
        options: dict[str, Any] = {"authenticator": self._login, "auth_required": True, "auth_require_tls": encrypted}
        if starttls:
            options |= {"tls_context": context, "require_starttls": True}
            self.address = f"{HOST}:{port}"
        else:
            self.address = f"smtps://{HOST}:{port}" if encrypted else f"{HOST}:{port}"
            options |= {"ssl_context": context}
            if encrypted:
                options["auth_require_tls"] = False  # aiosmtpd knows only STARTTLS
        self.sent: list[Envelope] = []
        self._controller = Controller(self, hostname=HOST, port=port, **options)

    def _login(self, server: object, session: Session, envelope: Envelope, mechanism: str, data: object) -> AuthResult:
        right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
        return AuthResult(success=right, handled=right)

    async def handle_RCPT(
        self, server: object, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address.endswith("@refused.example"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: object, session: Session, envelope: Envelope) -> str:
        self.sent.append(envelope)
        return "250 OK"

    def __enter__(self) -> SmtpServer:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()


def mail(
    subject: str, text: str, sender: str = "Bob <bob@example.com>", html: str = "", **headers: str
) -> EmailMessage:
    """A mail to Ann."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "ann@example.org", subject
    message["Date"], message["Message-ID"] = "Mon, 02 Nov 2026 10:00:00 +0100", f"<{abs(hash(subject))}@example.com>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message

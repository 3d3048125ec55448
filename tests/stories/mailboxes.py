"""A person's mailbox: Dovecot and an SMTP server that the bot trusts, and connecting it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.handlers.tools.sandbox.test_sandbox import missing
from tests.servers.mail import DOVECOT, HOST, PASSWORD, Dovecot, SmtpServer, dovecot
from tests.servers.telegram import User
from tests.stories.harness import BotHarness, ask


@dataclass(frozen=True, slots=True)
class MailServers:
    """Every user exists, with the same password."""

    imap: Dovecot
    smtp: SmtpServer

    async def connect(self, on: BotHarness, name: str = "ann", user: User | str | None = None) -> None:
        """The person answers all questions of `/connect email`."""
        on.env["ACCOUNT_HOSTS"] = HOST
        await ask(on, "/connect email", user=user)
        for answer in (f"{name}@example.org", self.imap.imaps, self.smtp.address, name):
            await ask(on, answer, user=user)
        done = await ask(on, PASSWORD, user=user)
        assert f"Connected and tested: E-mail, {name}@example.org" in done.text, done.text


@contextmanager
def mail_servers() -> Iterator[MailServers]:
    if DOVECOT is None:
        missing("Dovecot is not installed (sudo apt install dovecot-imapd)")
    with dovecot() as (imap, certificate), SmtpServer(certificate) as smtp, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate.path))
        yield MailServers(imap, smtp)

"""Connected mail accounts, without a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from handlers.accounts.accounts import Accounts, OpenAccount
from handlers.accounts.reachable import Reachable
from handlers.tools.email.tools import EmailTools
from handlers.tools.files.person_files import PersonFiles
from routing.errors import ToolFailed
from routing.types.people import Person
from tests.servers.mail import HOST, PASSWORD

NOW = 1_793_620_800.0
"""2 November 2026, 12:00 UTC."""


class FixedAccounts(Accounts):
    """One mail account for each of these people, by their id."""

    def __init__(self, accounts: Mapping[int, OpenAccount]) -> None:
        self._accounts = accounts

    async def open(self, person: Person, *kinds: str, label: str | None = None) -> OpenAccount:
        if person.id not in self._accounts:
            raise ToolFailed("No account is connected for this.")
        return self._accounts[person.id]


def account(user: str, imap: str, smtp: str, password: str = PASSWORD) -> OpenAccount:
    address = f"{user}@example.org"
    return OpenAccount("email", address, {"address": address, "user": user, "imap": imap, "smtp": smtp}, password)


def tools_for(tmp_path: Path, accounts: Mapping[int, OpenAccount]) -> EmailTools:
    def here(_person: Person) -> Reachable:
        return Reachable(hosts=frozenset({HOST}))

    return EmailTools(FixedAccounts(accounts), here, PersonFiles(tmp_path / "files"), lambda: NOW)

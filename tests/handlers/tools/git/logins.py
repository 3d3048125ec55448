"""Logins at a git server, and where servers may be."""

from __future__ import annotations

from handlers.accounts.reachable import Reachable
from handlers.tools.git.account import GitAccounts
from handlers.tools.git.remote import Login, Remote
from routing.types.people import Person
from tests.servers.git import HOST


def here(_person: Person) -> Reachable:
    """The servers of the tests."""
    return Reachable(hosts=frozenset({HOST, "localhost"}))


class FixedLogin(GitAccounts):
    """A login that is only for the server at `root`."""

    def __init__(self, root: str = "", user: str = "", token: str = "") -> None:
        super().__init__(None)
        self._root = root
        self._found = Login(user, token)

    async def login(self, person: Person, remote: Remote) -> Login | None:
        return self._found if remote.origin == self._root else None


NOBODY = FixedLogin()

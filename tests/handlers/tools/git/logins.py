"""Logins at a git server, where servers may be, and the tools of someone who is logged in."""

from __future__ import annotations

from pathlib import Path

from handlers.accounts.reachable import Reachable
from handlers.tools.git.account import GitAccounts
from handlers.tools.git.remote import Login, Remote
from handlers.tools.git.tools import GitTools
from routing.types.people import Person
from tests.handlers.tools.sandbox.test_sandbox import made
from tests.servers.git import HOST, GitServer

USER, TOKEN = "ada", "ghp_the-token-that-nobody-may-see"


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


async def tools_for(tmp_path: Path, server: GitServer) -> GitTools:
    return GitTools(await made(tmp_path), FixedLogin(server.root, USER, TOKEN), here)

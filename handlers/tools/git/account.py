"""Accounts with git servers: what `/connect git` asks for, and whose login a repository gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module

from handlers.accounts.accounts import Accounts
from handlers.accounts.kinds import QUOTES, AccountKind, Field, ServiceFailed, Tested, is_host
from handlers.accounts.reachable import Reachable
from handlers.tools.git.program import Identity
from handlers.tools.git.remote import Login, Remote, Route, parse_remote
from routing.errors import Refused, ToolFailed
from routing.types.people import Person

KIND, MAIL = "git", "email"
NO_ADDRESS = "tierbot.invalid"
"""The domain of an author who has connected no mail account."""


class GitAccounts:
    """The logins and the names of people."""

    def __init__(self, accounts: Accounts | None) -> None:
        self._accounts = accounts

    async def login(self, person: Person, remote: Remote) -> Login | None:
        """The person's login for the server of a repository: never for another host, port or scheme."""
        if self._accounts is None:
            return None
        for account in reversed(await self._accounts.of(person, KIND)):
            if account.details["origin"] == remote.origin:
                opened = await self._accounts.open(person, KIND, label=account.label)
                return Login(opened.details["user"], opened.secret)
        return None

    async def author(self, person: Person) -> Identity:
        """The person as the author of commits, with the address of their mail account if there is one."""
        mail = await self._accounts.of(person, MAIL) if self._accounts else ()
        email = mail[-1].details["address"] if mail else f"person-{person.id}@{NO_ADDRESS}"
        return Identity(person.name or "tierbot user", email)


def kind(reachable: Callable[[Person], Reachable]) -> AccountKind:
    """The account's questions. It is tested with one of the person's repositories, because git has no other login."""

    async def test(person: Person, details: Mapping[str, str], secret: str) -> Tested:
        remote = parse_remote(details["address"])
        host = remote.host
        addresses = await asyncio.to_thread(reachable(person).addresses, host, remote.port, remote.encrypted)
        gateway = await asyncio.to_thread(import_module, "handlers.tools.git.gateway")
        status = await gateway.check_login(Route(remote, addresses, Login(details["user"], secret), None, 0))
        if status in (401, 403):
            raise ServiceFailed("{host} refuses this user name and token", again="secret", host=host)
        if status == 404:
            raise ServiceFailed("{host} has no such repository, or this user may not see it", host=host)
        if status == 0:
            raise ServiceFailed("{host} does not answer", host=host)
        if status != 200:
            raise ServiceFailed("{host} answers with the error {status}", host=host, status=str(status))
        return Tested(f"{details['user']} · {remote.origin}", {"origin": remote.origin, "user": details["user"]})

    return AccountKind(
        KIND,
        "Git",
        (
            Field(
                "address",
                "What is the https address of one of your repositories? For example "
                "`https://github.com/ann/notes.git`. I test the login with it; it then works for all repositories of "
                "that server.",
                _read_address,
            ),
            Field("user", "What is your user name there?", _read_user),
        ),
        "Which access token may I use? Your server's settings make one; it needs to read and write repositories "
        "(on GitHub: a fine-grained token with *Contents*). I delete your message if I can.",
        test,
        several=True,
        also=("github", "gitlab", "codeberg"),
    )


def _read_address(text: str) -> str:
    text = text.strip(QUOTES)
    if "://" not in text and "@" not in text and is_host(text.partition("/")[0]):
        text = f"https://{text}"
    try:
        remote = parse_remote(text)
    except ToolFailed:
        raise Refused("That is not a repository's address like https://github.com/ann/notes.git.") from None
    if remote.scheme == "git":
        raise Refused("That is not a repository's address like https://github.com/ann/notes.git.")
    return remote.url


def _read_user(text: str) -> str:
    if not text or len(text) > 200 or not text.isprintable() or ":" in text:
        raise Refused("That is not a user name.")
    return text

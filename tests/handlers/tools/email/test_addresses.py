"""What people may write as a mail address or a server, and as a repository."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handlers.accounts.kinds import AccountKind
from handlers.accounts.reachable import Reachable
from handlers.tools.email import account as email
from handlers.tools.git import account as git
from routing.errors import Refused


def reader(kind: AccountKind, name: str) -> Callable[[str], str]:
    """What reads the answer to a question."""
    return next(field.read for field in kind.fields if field.name == name)


ADDRESS, SERVER = (reader(email.kind(lambda person: Reachable()), name) for name in ("address", "imap"))
REPOSITORY = reader(git.kind(lambda person: Reachable()), "address")


@pytest.mark.parametrize(
    ("read", "typed", "value"),
    [
        (ADDRESS, "ann@example.com", "ann@example.com"),
        (ADDRESS, "Ann <ann@example.com>", "ann@example.com"),
        (ADDRESS, "mailto:ann@example.com", "ann@example.com"),
        (SERVER, "imap.example.com", "imap.example.com"),
        (SERVER, "`imaps://mail`", "imaps://mail"),
        (SERVER, "mail:143", "mail:143"),
        (REPOSITORY, "github.com/ann/notes", "https://github.com/ann/notes"),
        (REPOSITORY, "<https://github.com/ann/notes.git>", "https://github.com/ann/notes.git"),
    ],
)
def test_an_address_is_understood(read: Callable[[str], str], typed: str, value: str) -> None:
    assert read(typed) == value


@pytest.mark.parametrize(
    ("read", "typed"),
    [
        *(
            (ADDRESS, each)
            for each in ("ann", "ann@localhost", "a@@b.de", "ann@.de", "a@b.de,c@d.de", "a b@c.de", "@b.de")
        ),
        *((SERVER, each) for each in ("hunter2", "x..y", "imap.example.com 993", "https://imap.example.com")),
        *((REPOSITORY, each) for each in ("hunter2", "github.com", "ann:token@github.com/ann/notes", "a..b/c")),
    ],
)
def test_what_is_no_address_is_refused(read: Callable[[str], str], typed: str) -> None:
    with pytest.raises(Refused):
        read(typed)

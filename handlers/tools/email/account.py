"""Mail accounts: what `/connect email` asks for, and how it is tested."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping

from handlers.accounts.kinds import QUOTES, AccountKind, Field, Tested
from handlers.accounts.reachable import Reachable
from handlers.tools.email.servers import IMAP_PORT, MICROSOFT, PROVIDERS, SMTP_PORT, parse_server
from routing.errors import Refused
from routing.types.people import Person

KIND = "email"
_ADDRESS = re.compile(r"[^\s@,;:<>()\[\]]+@(?:[^\s@.,;:<>()\[\]]+\.)+[^\s@.,;:<>()\[\]]+")


def kind(reachable: Callable[[Person], Reachable]) -> AccountKind:
    """The servers are asked for only if the provider is unknown."""

    async def test(person: Person, details: Mapping[str, str], secret: str) -> Tested:
        imap, smtp = PROVIDERS.get(_domain(details["address"]), ("", ""))
        complete = {
            "address": details["address"],
            "user": details.get("user", details["address"]),
            "imap": details.get("imap", imap),
            "smtp": details.get("smtp", smtp),
        }
        await asyncio.to_thread(_test, complete, secret, reachable(person))
        return Tested(complete["address"], complete)

    return AccountKind(
        KIND,
        "E-mail",
        (
            Field("address", "What is your e-mail address?", _read_address),
            Field(
                "imap",
                "What is the IMAP server, which has your mail? For example `imap.example.com`, or with another port "
                "than 993 `imap.example.com:143`. Your provider's help names it.",
                lambda text: _read_server(text, IMAP_PORT),
                _is_unknown,
            ),
            Field(
                "smtp",
                "What is the SMTP server, which sends your mail? For example `smtp.example.com`, or with another port "
                "than 465 `smtp.example.com:587`.",
                lambda text: _read_server(text, SMTP_PORT),
                _is_unknown,
            ),
            Field("user", "What is your user name there? Often it is your e-mail address.", _read_user, _is_unknown),
        ),
        "What is your password there? Gmail, iCloud, Yahoo, GMX and others need an app password, which you make in the "
        "security settings of your account; with GMX and WEB.DE, turn on IMAP there, too. I delete your message if I "
        "can.",
        test,
        also=("mail", "e-mail", "imap"),
    )


def _test(details: Mapping[str, str], secret: str, reachable: Reachable) -> None:
    from handlers.tools.email import mailbox, sending

    with mailbox.opened(details["imap"], details["user"], secret, reachable) as mail:
        mail.search("", mailbox.INBOX, 1)
    sending.check_login(details["smtp"], details["user"], secret, reachable)


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()


def _is_unknown(details: Mapping[str, str]) -> bool:
    return _domain(details.get("address", "")) not in PROVIDERS


def _read_address(text: str) -> str:
    text = text.strip(QUOTES).removeprefix("mailto:")
    text = text.rpartition("<")[2]  # Ann <ann@example.com>
    if len(text) > 200 or not text.isprintable() or not _ADDRESS.fullmatch(text):
        raise Refused("That is not an e-mail address like ann@example.com.")
    if _domain(text) in MICROSOFT:
        raise Refused(
            "Microsoft's mail servers ({domain}) accept no passwords any more, so I can't use them. Use another "
            "account.",
            domain=_domain(text),
        )
    return text


def _read_server(text: str, port: int) -> str:
    parse_server(text, port)
    return text.strip(QUOTES)


def _read_user(text: str) -> str:
    if not text or len(text) > 200 or not text.isprintable():
        raise Refused("That is not a user name.")
    return text

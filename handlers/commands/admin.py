"""/admin: a one-time link to the admin page, for owners."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from handlers.access.sign_in_links import LINK_MINUTES
from handlers.context import TERMINAL, CommandContext, CommandSpec, Handler, Reply
from handlers.dependencies import CommandDependencies
from handlers.http.addresses import is_loopback
from routing.errors import Refused
from routing.types.messages import UserKey

SPEC = CommandSpec("admin", "A link to the admin page, for owners", ("/admin",), role="owner", personal=True)


def build(dependencies: CommandDependencies) -> Handler:
    return AdminCommand(dependencies.sign_in_link)


class AdminCommand:
    """`sign_in_link` makes a link that signs an owner in once; None if the admin page is off."""

    def __init__(self, sign_in_link: Callable[[UserKey], str | None]) -> None:
        self._sign_in_link = sign_in_link

    async def __call__(self, ask: CommandContext) -> Reply:
        if not ask.message.private:
            raise Refused("I only send this link in private: send me /admin in a direct message.")
        user = ask.message.user
        link = None if user.platform == TERMINAL else self._sign_in_link(user)
        if link is None:
            raise Refused("The admin page is off here. Set ADMIN_ADDRESS and start me with tierbot run.")
        words = "🛠 The admin page: {link}\n\nThe link works once, within {minutes} minutes. It is only for you."
        text = ask.say(words, link=link, minutes=LINK_MINUTES)
        if (port := _local_port(link)) is not None:
            hint = (
                "It opens only on the machine that I run on. From elsewhere, first run "
                "`ssh -L {port}:127.0.0.1:{port} <that machine>`, or set ADMIN_URL."
            )
            text += "\n\n" + ask.say(hint, port=str(port))
        return Reply(text, secret=True)


def _local_port(link: str) -> int | None:
    """The port of an address that only this machine can open; None for others."""
    parts = urlsplit(link)
    return parts.port if is_loopback(parts.hostname or "") else None

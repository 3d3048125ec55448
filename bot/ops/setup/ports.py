"""Whether the ports on which the bot listens are free."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import closing

from bot.ops.setup.draft import Draft
from bot.ops.setup.prompts import Prompts
from bot.workspace import Workspace
from handlers.languages import Say

ADMIN_ADDRESS = "ADMIN_ADDRESS"


async def free(draft: Draft, prompts: Prompts, say: Say, show: Callable[[str], None]) -> Draft:
    """The draft with an address for the admin page that no other program uses. A running bot uses its own."""
    if Workspace(draft.saved).in_use():
        return draft
    while True:
        address = draft.environment.settings.admin_address
        if not is_taken(address):
            return draft
        host, _, port = address.rpartition(":")
        show(say("✗ Another program listens on {address}, where the admin page would be.", address=address))
        question = say("Another port (Enter: no admin page):")
        typed = await prompts.text(question, str(int(port) + 1))
        draft = draft.put({ADMIN_ADDRESS: f"{host}:{typed}" if typed.isdecimal() else "off"})


def is_taken(address: str) -> bool:
    """Whether another program listens on host:port. False if it can't be tried, such as for `off`."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return False
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        with closing(socket.socket(family, kind, protocol)) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(where)
    except (OSError, OverflowError) as error:
        return isinstance(error, OSError) and error.errno == errno.EADDRINUSE
    return False

"""Whether the port of the admin page is free."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import closing

from bot.config.workspace import Workspace
from bot.ops.setup.draft import Draft
from bot.ops.setup.prompts import Prompts
from handlers.languages import Say
from routing.errors import ConfigError


async def free_admin_port(draft: Draft, prompts: Prompts, say: Say, show: Callable[[str], None]) -> Draft:
    """The draft with an ADMIN_ADDRESS that no other program uses."""
    while (admin := taken(draft)) is not None:
        host, port = admin
        words = "✗ Another program listens on port {port}, where the admin page would be."
        show(say(words, port=str(port)))
        typed = await prompts.text(say("Another port (empty: no admin page):"), str(port + 1))
        moved = draft.put({"ADMIN_ADDRESS": f"{host}:{typed}" if typed else "off"})
        try:
            _ = moved.environment
        except ConfigError as error:
            show(f"✗ {say(error.reason)}")
        else:
            draft = moved
    return draft


def taken(draft: Draft) -> tuple[str, int] | None:
    """Host and port of the admin page if another program listens there. A running bot uses its own."""
    admin = draft.environment.settings.admin
    return admin if admin and not Workspace(draft.saved).in_use() and is_taken(*admin) else None


def is_taken(host: str, port: int) -> bool:
    """Whether another program listens there. An address that can't be tried counts as free."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with closing(socket.socket(family, kind, protocol)) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(where)
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False

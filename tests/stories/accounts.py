"""A person connects their calendar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.radicale import PASSWORD, USER, RadicaleServer
from tests.servers.telegram import Message
from tests.stories.harness import BotHarness, ask

ADDRESS = "What is the address of your calendar server"
UNREAD = "I did not read this message"


@contextmanager
def radicale(on: BotHarness) -> Iterator[RadicaleServer]:
    """A calendar server next to the workspace, with one calendar."""
    folder = Path(on.workspace).parent / "radicale"
    folder.mkdir()
    with RadicaleServer(folder) as server:
        server.calendar()
        yield server


async def connect(on: BotHarness, server: RadicaleServer, kind: str = "calendar", user: str | None = None) -> Message:
    """Answers all questions of `/connect`; returns the last reply."""
    await ask(on, f"/connect {kind}", user=user)
    await ask(on, server.address, user=user)
    await ask(on, USER, user=user)
    return await ask(on, PASSWORD, user=user)

"""A platform connected to its loopback server, with stores in memory and an `accept` that can fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Self, TypeVar

from bot.adapters.shared.descriptor import Commands, Services
from bot.platform import Platform, Sent
from handlers.commands import COMMANDS
from routing.errors import StorageFault
from routing.ports import Clock
from routing.types.messages import InboundMessage, OutboundMessage
from tests.fakes import later
from tests.handlers.suggestions import suggestions
from tests.servers.discord import DiscordServer
from tests.servers.injected_faults import InjectedFault
from tests.servers.telegram import TelegramServer

T = TypeVar("T")


async def answered_or_late(
    server: DiscordServer | TelegramServer, fault: InjectedFault, call: Awaitable[T], limit: float = 30.0
) -> T:
    """The outcome of a call that a fault hits. If there is no answer, its `limit` in seconds passes at once."""
    calling = asyncio.ensure_future(call)
    await server.wait_for(lambda _: fault.hits)
    if fault.kind in ("hang", "hang_after"):
        later(limit)
    try:
        return await calling
    finally:
        fault.release()


class States:
    """A StateStore in memory; `changed` is called after each change."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None

    async def get(self, key: str) -> str | None:
        return self.kept.get(key)

    async def put(self, key: str, value: str | None) -> None:
        if value is None:
            self.kept.pop(key, None)
        else:
            self.kept[key] = value
        self.changed()


class LogRecorder(logging.Handler):
    """Records log lines, and wakes tests that wait on the server."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self._changed()


class PlatformHarness:
    """A platform under test and the messages it accepted. `failures`: how often `accept` raises `fault` before it
    works."""

    platform: Platform

    def __init__(self, server: DiscordServer | TelegramServer) -> None:
        self.server = server
        self.accepted: list[InboundMessage] = []
        self.batches = 0
        self.failures = 0
        self.fault: Exception = StorageFault("disk full")
        self.placeholders: list[str] = []
        self.notices: list[str] = []
        self.log = LogRecorder(server.changed)

    def services(self, state: States, chats: Any, clock: Clock) -> Services:
        return Services(
            accept=self._accept,
            state=state,
            chats=chats,
            commands=self._commands,
            unanswered=self._unanswered,
            tell=self._tell,
            clock=clock,
            steady=clock,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Starts the platform. At the end, the server must have seen no violations."""
        logger = logging.getLogger(f"bot.adapters.{self.platform.name}")
        level = logger.level
        logger.addHandler(self.log)
        logger.setLevel(logging.INFO)
        try:
            await self.platform.start()
            yield self
        finally:
            await self.platform.close()
            logger.removeHandler(self.log)
            logger.setLevel(level)
        assert self.server.violations == []

    async def _accept(self, messages: Sequence[InboundMessage]) -> None:
        self.batches += 1
        if self.failures:
            self.failures -= 1
            self.server.changed()
            raise self.fault
        self.accepted += self._new(messages)
        self.server.changed()

    def _new(self, messages: Sequence[InboundMessage]) -> Sequence[InboundMessage]:
        return messages

    async def _commands(self) -> Commands:
        return Commands(COMMANDS, suggestions())

    async def _unanswered(self, message: InboundMessage) -> None:
        await self.server.wait_for(lambda _: False, timeout=1000)

    async def _tell(self, template: str, /, **values: object) -> None:
        self.notices.append(template.format(**values))
        self.server.changed()

    async def keep(self, message_id: str) -> None:
        self.placeholders.append(message_id)
        self.server.changed()

    async def update(self, update_id: object) -> InboundMessage:
        """The accepted message of this update."""
        wanted = str(update_id)
        found = await self.server.wait_for(lambda _: [each for each in self.accepted if each.update_id == wanted])
        return found[0]

    async def send(
        self, message: OutboundMessage, outbox_id: int = 7, first: int = 0, again: bool = False
    ) -> list[Sent]:
        return [sent async for sent in self.platform.send(message, outbox_id, first, again)]

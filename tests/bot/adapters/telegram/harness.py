"""A platform connected to the loopback server, with stores in memory and an `accept` that can fail."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from bot.adapters.shared.descriptor import Services
from bot.adapters.telegram.platform import TelegramPlatform
from bot.adapters.telegram.settings import Pace, TelegramSettings
from bot.platform import Platform, Sent
from handlers.commands import COMMANDS
from routing.errors import StorageFault
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from tests.bot.adapters.fakes import Bell, States
from tests.handlers.suggestions import suggestions
from tests.servers.telegram import Chat, Message, TelegramServer

QUICK = Pace(
    backoff=0.02,
    longest_backoff=0.1,
    conflict=0.05,
    longest_conflict=0.1,
    revoked=0.1,
    watch=0.02,
    typing_after=0.02,
    typing_every=0.1,
    preview_after=0.02,
    private_gap=0.05,
    group_gap=0.05,
    draft_refresh=0.15,
)


class Clock:
    """Wall-clock time, movable."""

    def __init__(self) -> None:
        self.shift = 0.0

    def __call__(self) -> float:
        return time.time() + self.shift


class Chats:
    """The part of a ChatStore that the adapter uses."""

    def __init__(self) -> None:
        self.moves: list[tuple[ChatKey, str]] = []

    async def moved(self, old: ChatKey, new_chat_id: str) -> None:
        self.moves.append((old, new_chat_id))


class PlatformHarness:
    """A platform under test and the messages it accepted. `failures`: how often `accept` raises before it works."""

    def __init__(self, tg: TelegramServer, state: States | None = None, **given: Any) -> None:
        self.tg = tg
        self.accepted: list[InboundMessage] = []
        self.batches = 0
        self.failures = 0
        self.state = state or States()
        self.state.changed = tg.changed
        self.chats = Chats()
        self.clock = Clock()
        pace: Pace = replace(QUICK, **given.pop("pace", {}))
        settings = {"telegram_bot_token": tg.token, "telegram_api_root": tg.root, "telegram_flood_limit": "off"}
        settings |= {f"telegram_{name}": value for name, value in given.items()}
        chats: Any = self.chats  # the adapter only reports moves
        self.platform = TelegramPlatform(
            TelegramSettings.model_validate(settings),
            Services(
                accept=self._accept,
                state=self.state,
                chats=chats,
                specs=COMMANDS,
                suggestions=suggestions(),
                unanswered=self._unused,
                tell=self._unused,
                clock=self.clock,
                steady=self.clock,
            ),
            pace,
        )
        self.kept: list[str] = []

    async def _unused(self, *_: object, **__: object) -> None:
        raise AssertionError("only Discord uses this")

    async def _accept(self, messages: Sequence[InboundMessage]) -> None:
        self.batches += 1
        if self.failures:
            self.failures -= 1
            self.tg.changed()
            raise StorageFault("disk full")
        self.accepted += messages
        self.tg.changed()

    async def keep(self, message_id: str) -> None:
        self.kept.append(message_id)
        self.tg.changed()

    async def until(self, count: int = 1) -> InboundMessage:
        """The `count`th accepted message."""
        await self.tg.wait_for(lambda _: len(self.accepted) >= count)
        return self.accepted[count - 1]

    async def heard(self, message: Message) -> InboundMessage:
        """The accepted message for this one."""
        await self.tg.wait_for(lambda _: self._found(message))
        found = self._found(message)
        assert found is not None
        return found

    def _found(self, message: Message) -> InboundMessage | None:
        assert message.update is not None
        wanted = str(message.update["update_id"])
        return next((inbound for inbound in self.accepted if inbound.update_id == wanted), None)

    async def send(
        self, message: OutboundMessage, outbox_id: int = 7, first: int = 0, again: bool = False
    ) -> list[Sent]:
        return [sent async for sent in self.platform.send(message, outbox_id, first, again)]


def to(chat: Chat, text: str, thread: str = "", **more: Any) -> OutboundMessage:
    return OutboundMessage(ChatKey("telegram", str(chat.id), thread), text, **more)


@contextlib.asynccontextmanager
async def running_platform(
    tg: TelegramServer, state: States | None = None, **given: Any
) -> AsyncIterator[PlatformHarness]:
    """A started platform. At the end, the server must have seen no violations."""
    made, bell = PlatformHarness(tg, state, **given), Bell(tg.changed)
    platform: Platform = made.platform
    logging.getLogger("bot.adapters.telegram").addHandler(bell)
    await platform.start()
    try:
        yield made
    finally:
        await platform.close()
        logging.getLogger("bot.adapters.telegram").removeHandler(bell)
    assert tg.violations == []

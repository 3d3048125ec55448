"""Telegram's platform connected to the loopback server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from bot.adapters.telegram.platform import TelegramPlatform
from bot.adapters.telegram.settings import Pace, TelegramSettings
from routing.ports import LiveReply
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from tests.bot.adapters.harness import PlatformHarness, States
from tests.fakes import ShiftedClock
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


class Chats:
    """The part of a ChatStore that the adapter uses."""

    def __init__(self) -> None:
        self.moves: list[tuple[ChatKey, str]] = []

    async def moved(self, old: ChatKey, new_chat_id: str) -> None:
        self.moves.append((old, new_chat_id))


class TelegramHarness(PlatformHarness):
    """Its clock and the chats that moved can be read and set."""

    platform: TelegramPlatform
    server: TelegramServer

    def __init__(self, tg: TelegramServer, state: States | None = None, **given: Any) -> None:
        super().__init__(tg)
        self.state = state or States()
        self.state.changed = tg.changed
        self.chats = Chats()
        self.clock = ShiftedClock()
        pace: Pace = replace(QUICK, **given.pop("pace", {}))
        settings = {"telegram_bot_token": tg.token, "telegram_api_root": tg.root, "telegram_flood_limit": "off"}
        settings |= {f"telegram_{name}": value for name, value in given.items()}
        services = self.services(self.state, self.chats, self.clock)
        self.platform = TelegramPlatform(TelegramSettings.model_validate(settings), services, pace)

    async def until(self, count: int = 1) -> InboundMessage:
        """The `count`th accepted message."""
        await self.server.wait_for(lambda _: len(self.accepted) >= count)
        return self.accepted[count - 1]

    async def received(self, message: Message) -> InboundMessage:
        """The accepted message for this one."""
        assert message.update is not None
        return await self.update(message.update["update_id"])

    def live(self, message: InboundMessage, placeholder: str = "") -> LiveReply:
        return self.platform.live(message, placeholder, True, self.keep)


def to(chat: Chat, text: str, thread: str = "", **more: Any) -> OutboundMessage:
    return OutboundMessage(ChatKey("telegram", str(chat.id), thread), text, **more)


def running_platform(
    tg: TelegramServer, state: States | None = None, **given: Any
) -> AbstractAsyncContextManager[TelegramHarness]:
    """A started platform. At the end, the server must have seen no violations."""
    return TelegramHarness(tg, state, **given).running()

"""A platform connected to the loopback server, with stores in memory and an `accept` that can fail."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from bot.adapters.discord.platform import DiscordPlatform
from bot.adapters.discord.settings import DiscordSettings, Pace
from bot.adapters.shared.descriptor import Services
from bot.platform import Platform, Sent
from handlers.commands import COMMANDS
from routing.errors import StorageFault
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage
from tests.bot.adapters.fakes import Bell, States
from tests.handlers.suggestions import suggestions
from tests.servers.discord import Channel, DiscordServer, Interaction, Message
from tests.servers.discord.sdk import pointed

QUICK = Pace(
    backoff=0.02,
    longest_backoff=0.1,
    revoked=0.1,
    identify_gap=0.0,
    watch=0.02,
    typing_after=0.02,
    typing_every=0.1,
    preview_after=0.02,
    edit_gap=0.05,
)


class Kept:
    """What survives a restart: stored state, known chats, and accepted updates."""

    def __init__(self) -> None:
        self.state = States()
        self.chats: dict[ChatKey, None] = {}
        self.updates: set[str] = set()
        self.since = 0.0
        """The `since` of the last call of `known`."""
        self.readable = asyncio.Event()
        self.readable.set()

    async def known(self, platform: str, since: float) -> tuple[ChatKey, ...]:
        await self.readable.wait()
        self.since = since
        return tuple(self.chats)


class PlatformHarness:
    """A platform under test and the messages it accepted. `failures`: how often `accept` raises before it works."""

    def __init__(self, dc: DiscordServer, kept: Kept | None = None, **given: Any) -> None:
        self.dc = dc
        self.kept = kept or Kept()
        self.accepted: list[InboundMessage] = []
        self.told: list[str] = []
        self.placeholders: list[str] = []
        self.failures = 0
        self.fault: Exception = StorageFault("disk full")
        self.log = Bell(dc.changed)
        pace: Pace = replace(QUICK, **given.pop("pace", {}))
        settings = {"discord_bot_token": dc.token, "discord_api_root": dc.root, "discord_gateway_url": dc.gateway}
        settings |= {f"discord_{name}": value for name, value in given.items()}
        chats: Any = self.kept  # the adapter only asks which chats are known
        self.platform = DiscordPlatform(
            DiscordSettings.model_validate(settings),
            Services(
                accept=self._accept,
                state=self.kept.state,
                chats=chats,
                specs=COMMANDS,
                suggestions=suggestions(),
                unanswered=self._unanswered,
                tell=self._tell,
                clock=dc.now,
                steady=dc.now,
            ),
            pace,
        )

        self.platform._client._connection.guild_ready_timeout = 0.05  # discord.py waits 2 s for more servers

    async def _accept(self, messages: Sequence[InboundMessage]) -> None:
        if self.failures:
            self.failures -= 1
            self.dc.changed()
            raise self.fault
        fresh = [message for message in messages if message.update_id not in self.kept.updates]
        self.kept.updates.update(message.update_id for message in fresh)
        self.kept.chats.update({message.chat: None for message in fresh})
        self.accepted += fresh
        self.dc.changed()

    async def _unanswered(self, message: InboundMessage) -> None:
        await self.dc.wait_for(lambda _: False, timeout=1000)

    async def _tell(self, template: str, /, **values: object) -> None:
        self.told.append(template.format(**values))
        self.dc.changed()

    async def keep(self, message_id: str) -> None:
        self.placeholders.append(message_id)
        self.dc.changed()

    async def heard(self, told: Message | Interaction) -> InboundMessage:
        """The accepted message for this event."""
        found = await self.dc.wait_for(lambda _: self._found(told))
        assert isinstance(found, InboundMessage)
        return found

    async def texts(self, count: int) -> list[str]:
        """The accepted texts, once there are `count`."""
        await self.dc.wait_for(lambda _: len(self.accepted) >= count)
        return [message.text for message in self.accepted]

    def _found(self, told: Message | Interaction) -> InboundMessage | None:
        return next((inbound for inbound in self.accepted if inbound.update_id == str(told.id)), None)

    async def send(self, channel: Channel, text: str, outbox_id: int = 7) -> list[Sent]:
        message = OutboundMessage(key(channel), text)
        return [sent async for sent in self.platform.send(message, outbox_id, 0, False)]


def key(channel: Channel) -> ChatKey:
    if channel.is_thread and channel.parent is not None:
        return ChatKey("discord", str(channel.parent.id), str(channel.id))
    return ChatKey("discord", str(channel.id))


@contextlib.asynccontextmanager
async def running_platform(dc: DiscordServer, kept: Kept | None = None, **given: Any) -> AsyncIterator[PlatformHarness]:
    """A started platform. At the end, the server must have seen no violations."""
    with pointed(dc):
        made = PlatformHarness(dc, kept, **given)
        platform: Platform = made.platform
        logger, level = logging.getLogger("bot.adapters.discord"), logging.getLogger("bot.adapters.discord").level
        logger.addHandler(made.log)
        logger.setLevel(logging.INFO)
        try:
            await platform.start()
            yield made
        finally:
            await platform.close()
            logger.removeHandler(made.log)
            logger.setLevel(level)
    assert dc.violations == []

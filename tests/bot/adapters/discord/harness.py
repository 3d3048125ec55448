"""Discord's platform connected to the loopback server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from bot.adapters.discord.platform import DiscordPlatform
from bot.adapters.discord.settings import DiscordSettings, Pace
from routing.types.messages import ChatKey, InboundMessage
from tests.bot.adapters.harness import PlatformHarness, States
from tests.servers.discord import DiscordServer, Interaction, Message
from tests.servers.discord.sdk import pointed

QUICK = Pace(
    backoff=0.02,
    longest_backoff=0.1,
    revoked=0.1,
    identify_gap=0.0,
    watch=0.02,
    typing_after=0.02,
    typing_every=0.1,
    max_silence=1e9,  # tests move the clock
    preview_after=0.02,
    edit_gap=0.05,
)


class PersistentState:
    """State that survives a restart: stored values, known chats, and accepted updates."""

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


class DiscordHarness(PlatformHarness):
    """Messages that were accepted before a restart are not accepted again."""

    platform: DiscordPlatform
    server: DiscordServer

    def __init__(self, dc: DiscordServer, kept: PersistentState | None = None, **given: Any) -> None:
        super().__init__(dc)
        self.kept = kept or PersistentState()
        pace: Pace = replace(QUICK, **given.pop("pace", {}))
        settings = {"discord_bot_token": dc.token, "discord_api_root": dc.root, "discord_gateway_url": dc.gateway}
        settings |= {f"discord_{name}": value for name, value in given.items()}
        services = self.services(self.kept.state, self.kept, dc.now)
        self.platform = DiscordPlatform(DiscordSettings.model_validate(settings), services, pace)
        self.platform._client._connection.guild_ready_timeout = 0.05  # discord.py waits 2 s for more servers

    def _new(self, messages: Sequence[InboundMessage]) -> Sequence[InboundMessage]:
        fresh = [message for message in messages if message.update_id not in self.kept.updates]
        self.kept.updates.update(message.update_id for message in fresh)
        self.kept.chats.update({message.chat: None for message in fresh})
        return fresh

    async def received(self, event: Message | Interaction) -> InboundMessage:
        """The accepted message for this event."""
        return await self.update(event.id)

    async def texts(self, count: int) -> list[str]:
        """The accepted texts, once there are `count`."""
        await self.server.wait_for(lambda _: len(self.accepted) >= count)
        return [message.text for message in self.accepted]


@contextlib.asynccontextmanager
async def running_platform(
    dc: DiscordServer, kept: PersistentState | None = None, **given: Any
) -> AsyncIterator[DiscordHarness]:
    """A started platform. At the end, the server must have seen no violations."""
    with pointed(dc):
        async with DiscordHarness(dc, kept, **given).running() as made:
            yield made

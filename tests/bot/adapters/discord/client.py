"""Replies and previews between the loopback server and a connected client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import discord

from bot.adapters.discord.context import EPHEMERAL, ClientContext, InteractionRef
from bot.adapters.discord.live import DiscordLive
from bot.adapters.discord.outbound import Outbound
from bot.adapters.discord.settings import Pace
from bot.platform import Sent
from routing.types.messages import ChatKey, InboundMessage, OutboundMessage, Press, UserKey
from tests.servers.discord import Channel, DiscordServer, Interaction, Message
from tests.servers.discord.sdk import pointed

QUICK = Pace(typing_after=0.02, typing_every=0.1, preview_after=0.02, edit_gap=0.05)
ASK = {"name": "ask", "description": "Ask", "type": 1, "integration_types": [0, 1], "contexts": [0, 1, 2]}


class Sender:
    """Sends through a connected client. `opened` says which interactions are deferred at once."""

    def __init__(self, dc: DiscordServer, client: discord.Client, pace: Pace, answer: float) -> None:
        self.dc = dc
        self.client = client
        self.context = ClientContext(client, pace, dc.now, answer)
        self.outbound = Outbound(self.context)
        self.kept: list[str] = []

    async def keep(self, message_id: str) -> None:
        self.kept.append(message_id)
        self.dc.changed()

    async def send(
        self, message: OutboundMessage, outbox_id: int = 7, first: int = 0, again: bool = False
    ) -> list[Sent]:
        return [sent async for sent in self.outbound.send(message, outbox_id, first, again)]

    def live(
        self, message: InboundMessage, placeholder: str = "", streaming: bool = True, keep: Any = None
    ) -> DiscordLive:
        return DiscordLive(self.context, message, placeholder, streaming, keep or self.keep)

    async def defer(self, asked: Interaction, ephemeral: bool = False) -> InteractionRef:
        """Answers as the receiving side does."""
        component = asked.source is not None
        origin = InteractionRef(asked.id, asked.token, asked.user.id, asked.user.locale[:2], component, ephemeral)
        content = {"type": 6} if component else {"type": 5, "data": {"flags": EPHEMERAL * ephemeral}}
        path = "/interactions/{interaction_id}/{interaction_token}/callback"
        place = {"interaction_id": asked.id, "interaction_token": asked.token}
        await self.context.call("POST", path, content, **place)
        return origin


def to(channel: Channel, text: str, **more: Any) -> OutboundMessage:
    return OutboundMessage(key(channel), text, **more)


def key(channel: Channel) -> ChatKey:
    if channel.is_thread and channel.parent is not None:
        return ChatKey("discord", str(channel.parent.id), str(channel.id))
    return ChatKey("discord", str(channel.id))


def inbound(message: Message) -> InboundMessage:
    """A received message."""
    return InboundMessage(
        user=UserKey("discord", str(message.author.id)),
        chat=key(message.channel),
        bot_id="1",
        update_id=str(message.id),
        text=message.text,
        sent_at=message.at,
        private=message.channel.is_dm,
        message_id=str(message.id),
    )


def asked(interaction: Interaction, origin: InteractionRef) -> InboundMessage:
    """A received command or press."""
    packed = origin.pack()
    return InboundMessage(
        user=UserKey("discord", str(interaction.user.id)),
        chat=key(interaction.channel),
        bot_id="1",
        update_id=str(interaction.id),
        text="/ask",
        sent_at=interaction.created,
        kind="press" if origin.component else "message",
        private=interaction.channel.is_dm,
        message_id=packed,
        press=Press(packed, packed) if origin.component else None,
    )


@contextlib.asynccontextmanager
async def connected(
    dc: DiscordServer, answer: float = 20.0, pace: dict[str, float] | None = None
) -> AsyncIterator[Sender]:
    """A ready client in the guild Team. At the end the server must have seen no violations and no pings."""
    dc.guild()
    with pointed(dc):
        intents = discord.Intents(guilds=True)
        async with discord.Client(intents=intents, guild_ready_timeout=0.05, max_ratelimit_timeout=30) as client:
            running = asyncio.create_task(client.start(dc.token))
            await asyncio.wait_for(client.wait_until_ready(), 60)
            await client.http.bulk_upsert_global_commands(dc.application_id, [ASK])
            made = Sender(dc, client, replace(QUICK, **(pace or {})), answer)
            yield made
            await made.context.background.close(1)
        await running
    assert dc.violations == []
    assert not any(message.pings for channel in dc.channels.values() for message in channel.from_bot())


@contextlib.asynccontextmanager
async def connected_client(
    answer: float = 20.0, pace: dict[str, float] | None = None, **options: Any
) -> AsyncIterator[Sender]:
    """The same, with a server that has these options."""
    async with DiscordServer(**options) as dc, connected(dc, answer, pace) as made:
        yield made

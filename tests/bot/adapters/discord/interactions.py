"""Interactions between the loopback server and a connected client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import discord

from bot.adapters.discord.commands import tree
from bot.adapters.discord.context import ClientContext
from bot.adapters.discord.interactions import SAVE_SECONDS, Interactions
from bot.adapters.discord.settings import Pace
from bot.adapters.shared.descriptor import Commands
from bot.outbox import NoReplyEvents
from handlers.commands import COMMANDS
from handlers.suggestions import Suggestions
from routing.errors import StorageFault
from routing.types.messages import InboundMessage
from tests.handlers.suggestions import suggestions
from tests.servers.discord import DiscordServer, Interaction
from tests.servers.discord.sdk import pointed


class CommandClient(discord.Client):
    """A client for interactions. `failures`: how often `accept` raises before it works; `storage` blocks it."""

    def __init__(self, dc: DiscordServer, offered: Suggestions, save_seconds: float) -> None:
        super().__init__(intents=discord.Intents(guilds=True), guild_ready_timeout=0.05)
        self.dc = dc
        self.accepted: list[InboundMessage] = []
        self.failures = 0
        self.fault: Exception = StorageFault("the disk is full")
        self.storage = asyncio.Event()
        self.storage.set()
        self.no_replies = NoReplyEvents()
        self.context = ClientContext(self, Pace(), lambda: dc.now())
        self.interactions = Interactions(self.context, self._accept, self._commands, self.no_replies.wait, save_seconds)
        self._offered = offered
        self._connection.parsers["INTERACTION_CREATE"] = self._hand_over

    def _hand_over(self, payload: Any) -> None:
        self.context.background.spawn(self.interactions.take(payload))

    async def _commands(self) -> Commands:
        return Commands(COMMANDS, self._offered)

    async def _accept(self, messages: Sequence[InboundMessage]) -> None:
        if self.failures:
            self.failures -= 1
            self.dc.changed()
            raise self.fault
        await self.storage.wait()
        self.accepted += messages
        self.dc.changed()

    async def received(self, asked: Interaction) -> InboundMessage:
        """The result of the interaction."""
        await self.dc.wait_for(lambda _: self._of(asked))
        return self._of(asked)[0]

    async def end(self) -> None:
        """Waits until nothing is running."""
        await self.interactions.close()
        await self.context.background.close(1.0)

    def _of(self, asked: Interaction) -> list[InboundMessage]:
        return [message for message in self.accepted if message.update_id == str(asked.id)]


@contextlib.asynccontextmanager
async def command_client(
    offered: Suggestions | None = None, save_seconds: float = SAVE_SECONDS, **options: Any
) -> AsyncIterator[tuple[DiscordServer, CommandClient]]:
    """A server and a client with all commands registered. At the end the server must have seen no violations."""
    async with DiscordServer(**options) as dc:
        dc.guild()
        client = CommandClient(dc, offered or suggestions(), save_seconds)
        with pointed(dc):
            async with client:
                await client.login(dc.token)
                assert client.application_id is not None
                await client.http.bulk_upsert_global_commands(client.application_id, tree(COMMANDS))
                connected = asyncio.create_task(client.connect())
                await client.wait_until_ready()
                yield dc, client
                await client.end()
            await connected
        assert dc.violations == []

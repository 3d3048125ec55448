"""The servers that the bot is in, and what it may not do in their channels: their owners can mend that."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable

import discord

from bot.adapters.discord.alarm import Alarm, Tell
from handlers.patience import patiently
from routing.stores import StateStore
from routing.types import ChatKey

STATE_KEY = "discord_guilds"
REMOVED = "🚪 I was removed from the Discord server {server}. I keep its conversations, but can no longer answer there."
NO_HISTORY = (
    "🔐 I can't read the history of #{channel} on the Discord server {server}, so messages sent to me there "
    "while I'm offline go unanswered. Give me the Read Message History permission there."
)
NO_FILES = (
    "🔐 I can't attach files in #{channel} on the Discord server {server}, so I can't send very long answers as a "
    "file. Give me the Attach Files permission there."
)
NO_THREADS = (
    "🔐 I can't create threads in #{channel} on the Discord server {server}, so I answer in the channel itself. Give "
    "me the Create Public Threads permission there, or set DISCORD_THREADS=false."
)

log = logging.getLogger(__name__)


class Guilds:
    """Tells the owners of each removal, one while the bot was away as well, and of each permission that it lacks where
    it is spoken to. Without View Channel or Send Messages there is no answer at all, which the outbox tells."""

    def __init__(self, client: discord.Client, state: StateStore, tell: Tell, alarm: Alarm, threads: bool) -> None:
        self._client = client
        self._state = state
        self._tell_owners = tell
        self._alarm = alarm
        self._needed = {"read_message_history": NO_HISTORY, "attach_files": NO_FILES}
        if threads:
            self._needed["create_public_threads"] = NO_THREADS
        self._turn = asyncio.Lock()

    async def compare(self, left: str = "") -> None:
        """Once the client knows every server that it is in, and when one was added or `left`."""
        async with self._turn:
            kept = await patiently(self._state.get, STATE_KEY)
            before: dict[str, str] = json.loads(kept or "{}")
            now = {str(guild.id): guild.name or before.get(str(guild.id), "") for guild in self._client.guilds}
            gone = {name or guild_id for guild_id, name in before.items() if guild_id not in now}
            for name in sorted(gone | ({left} if left else set())):
                log.warning("Discord: the bot was removed from the server %s", name)
                await patiently(self._say_removed, name)
            if now != before:
                await patiently(self._state.put, STATE_KEY, json.dumps(now))

    async def _say_removed(self, name: str) -> None:
        await self._tell_owners(REMOVED, server=name)

    async def look(self, chats: Iterable[ChatKey]) -> None:
        """At the permissions in the channels of these chats, as far as the client knows them."""
        for channel_id in dict.fromkeys(chat.chat_id for chat in chats):
            channel = self._client.get_channel(int(channel_id)) if channel_id.isdecimal() else None
            if not isinstance(channel, discord.abc.GuildChannel) or channel.guild.me is None:
                continue
            given = channel.permissions_for(channel.guild.me)
            if not (given.view_channel and given.send_messages):
                continue
            for permission, words in self._needed.items():
                template = "" if getattr(given, permission) else words
                names = {"channel": channel.name, "server": channel.guild.name}
                await self._alarm.lacks(f"{channel_id} {permission}", template, **names)

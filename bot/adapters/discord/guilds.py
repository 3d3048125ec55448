"""Problems that the owners have to fix on Discord: removals from servers, missing permissions, refused connections."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable

import discord

from bot.adapters.shared.descriptor import Tell
from handlers.storage_retry import retry_storage
from routing.ports import StateStore
from routing.types.messages import ChatKey

GUILDS_KEY = "discord_guilds"
TOLD_KEY = "discord_told"
LACKS_KEY = "discord_told_lacks"
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


class OwnerAlerts:
    """Tells the owners about a problem once, even across restarts, and again only if it was fixed in between."""

    def __init__(self, tell: Tell, state: StateStore) -> None:
        self._tell_owners = tell
        self._state = state
        self._lock = asyncio.Lock()
        self._missing: set[str] | None = None

    async def connection(self, template: str, /, **values: object) -> None:
        """Report a problem with the connection; empty if there is none."""
        sentence = template.format(**values)
        async with self._lock:
            if (await retry_storage(self._state.get, TOLD_KEY) or "") == sentence:
                return
            if sentence:
                await retry_storage(self._tell_owners, template, **values)
            await retry_storage(self._state.put, TOLD_KEY, sentence or None)

    async def permission(self, name: str, template: str, /, **values: object) -> None:
        """Report a missing permission; `name` includes its channel. The template is empty if it is granted."""
        async with self._lock:
            if self._missing is None:
                kept = await retry_storage(self._state.get, LACKS_KEY)
                self._missing = set(json.loads(kept or "[]"))
            if (name in self._missing) == bool(template):
                return
            if template:
                await retry_storage(self._tell_owners, template, **values)
            self._missing ^= {name}
            await retry_storage(
                self._state.put, LACKS_KEY, json.dumps(sorted(self._missing)) if self._missing else None
            )


class Guilds:
    """Reports removals from servers, including those while the bot was offline, and missing permissions in channels
    where people address the bot. Without View Channel or Send Messages no answer arrives, which the outbox reports."""

    def __init__(
        self, client: discord.Client, state: StateStore, tell: Tell, alerts: OwnerAlerts, threads: bool
    ) -> None:
        self._client = client
        self._state = state
        self._tell_owners = tell
        self._alerts = alerts
        self._needed = {"read_message_history": NO_HISTORY, "attach_files": NO_FILES}
        if threads:
            self._needed["create_public_threads"] = NO_THREADS
        self._lock = asyncio.Lock()

    async def compare(self, left: str = "") -> None:
        """Find servers that are gone, once the client knows all servers; `left` was just removed."""
        async with self._lock:
            kept = await retry_storage(self._state.get, GUILDS_KEY)
            before: dict[str, str] = json.loads(kept or "{}")
            now = {str(guild.id): guild.name or before.get(str(guild.id), "") for guild in self._client.guilds}
            gone = {name or guild_id for guild_id, name in before.items() if guild_id not in now}
            for name in sorted(gone | ({left} if left else set())):
                log.warning("Discord: the bot was removed from the server %s", name)
                await retry_storage(self._tell_removed, name)
            if now != before:
                await retry_storage(self._state.put, GUILDS_KEY, json.dumps(now))

    async def _tell_removed(self, name: str) -> None:
        await self._tell_owners(REMOVED, server=name)

    async def check_permissions(self, chats: Iterable[ChatKey]) -> None:
        """Check the channels of these chats that the client knows."""
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
                await self._alerts.permission(f"{channel_id} {permission}", template, **names)

"""Where a message was written: the conversation's key, the guild, and whether the bot takes part in a thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import discord

from bot.adapters.discord.client import Client
from handlers.recent import Recent
from routing.types import ChatKey

Json = dict[str, Any]
PLATFORM = "discord"
_THREADS = (10, 11, 12)
_ROOMS = (0, 5)  # where a thread can grow from a message
_WRITTEN_IN = (discord.TextChannel, discord.VoiceChannel, discord.StageChannel, discord.Thread)  # unlike a forum itself
_REMEMBERED = 2000  # channels that the gateway does not tell of


@dataclass(frozen=True, slots=True)
class Place:
    """`guild` is None in direct messages; `joined`: the bot takes part in this thread; `room`: threads can begin."""

    chat: ChatKey
    guild: discord.Guild | None
    private: bool
    joined: bool = False
    room: bool = False


class Places:
    """Knows channels from the gateway's cache; `learn` asks Discord about others."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._learnt: dict[int, tuple[int, int]] = {}
        self._joined: Recent[int, bool] = Recent()

    def join(self, chats: Iterable[ChatKey]) -> None:
        """In threads among these the bot has been spoken to: it takes part there."""
        for chat in chats:
            if chat.thread_id:
                self._joined.put(int(chat.thread_id), True)

    def guild(self, guild_id: str | None) -> discord.Guild | None:
        return self._client.get_guild(int(guild_id)) if guild_id else None

    def find(self, channel_id: int, guild_id: int | None, kind: int | None = None) -> Place | None:
        """The place of a message, None where only Discord can tell; `kind` is Discord's channel type if it is said."""
        if guild_id is None:
            return Place(ChatKey(PLATFORM, str(channel_id)), None, private=True)
        guild = self._client.get_guild(guild_id)
        channel = None if guild is None else guild.get_channel_or_thread(channel_id)
        if isinstance(channel, discord.Thread):
            mine = channel.me is not None or channel.owner_id == self._client.application_id
            return self._thread(channel_id, channel.parent_id, guild, mine)
        if channel is not None:
            return self._plain(channel_id, channel.type.value, guild)
        if channel_id in self._learnt:
            known_kind, parent_id = self._learnt[channel_id]
            if known_kind in _THREADS:
                return self._thread(channel_id, parent_id, guild, False)
            return self._plain(channel_id, known_kind, guild)
        return self._plain(channel_id, kind, guild) if kind is not None and kind not in _THREADS else None

    @property
    def shards(self) -> int:
        """How many gateway connections there are."""
        return self._client.shard_count or 1

    def shard(self, guild_id: int | None) -> int:
        """By which connection a guild's events come; direct messages by the first."""
        return 0 if guild_id is None else (guild_id >> 22) % self.shards

    def shard_of(self, channel_id: int) -> int | None:
        """The same for a channel; None for one that the gateway has not told of."""
        guild = getattr(self._client.get_channel(channel_id), "guild", None)
        return None if guild is None else self.shard(guild.id)

    def readable(self, channel_id: int) -> bool:
        """Whether the bot may read what was said in this channel of a guild."""
        channel = self._client.get_channel(channel_id)
        if not isinstance(channel, _WRITTEN_IN) or channel.guild.me is None:
            return False
        may = channel.permissions_for(channel.guild.me)
        return may.view_channel and may.read_message_history

    async def locate(self, channel_id: int) -> Place:
        """The place of a channel of which no more than its id is known. Raises as `learn`."""
        channel = self._client.get_channel(channel_id)
        guild = getattr(channel, "guild", None)
        place = self.find(channel_id, guild.id) if guild is not None else None
        return place or await self.learn(channel_id)

    async def learn(self, channel_id: int) -> Place:
        """Ask Discord. Raises what its HTTP client raises."""
        channel: Json = dict(await self._client.http.get_channel(channel_id))
        if channel.get("member") is not None or channel.get("owner_id") == str(self._client.application_id):
            self._joined.put(channel_id, True)
        if len(self._learnt) >= _REMEMBERED:
            del self._learnt[next(iter(self._learnt))]
        self._learnt[channel_id] = (int(channel["type"]), int(channel.get("parent_id") or 0))
        place = self.find(channel_id, int(channel["guild_id"]) if channel.get("guild_id") else None)
        assert place is not None
        return place

    def _thread(self, channel_id: int, parent_id: int, guild: discord.Guild | None, mine: bool) -> Place:
        joined = mine or self._joined.get(channel_id) is not None
        return Place(ChatKey(PLATFORM, str(parent_id), str(channel_id)), guild, private=False, joined=joined)

    def _plain(self, channel_id: int, kind: int, guild: discord.Guild | None) -> Place:
        return Place(ChatKey(PLATFORM, str(channel_id)), guild, private=False, room=kind in _ROOMS)

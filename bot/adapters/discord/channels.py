"""Channels, threads and servers, and which threads the bot has joined."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import discord

from bot.adapters.discord.client import NETWORK, Client, Json
from routing.bounded import Bounded
from routing.types.messages import ChatKey, InboundMessage

PLATFORM = "discord"
MAX_THREAD_NAME_CHARACTERS = 60  # Discord allows 100, its thread list shows fewer
_THREAD_KINDS = (10, 11, 12)
_STARTS_THREADS = (0, 5)  # kinds of channels in which a thread can start from a message
_WRITTEN_IN = (discord.TextChannel, discord.VoiceChannel, discord.StageChannel, discord.Thread)  # not forums
_REMEMBERED = 2000  # channels that the gateway does not list
_IDLE_MINUTES: Literal[1440] = 1440
_THREAD_EXISTS = 160004
_PLAIN = 0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """A channel or thread. `guild` is None in direct messages. `joined`: a thread the bot takes part in.
    `starts_threads`: a thread can be started from a message here."""

    chat: ChatKey
    guild: discord.Guild | None
    private: bool
    joined: bool = False
    starts_threads: bool = False


class Channels:
    """Finds channels in the gateway's cache or by asking Discord, and opens threads."""

    def __init__(self, client: Client, thread_per_mention: bool = False) -> None:
        self._client = client
        self._thread_per_mention = thread_per_mention
        self._warned = Bounded[str, bool]()
        self._fetched = Bounded[int, tuple[int, int]](_REMEMBERED)
        self._joined = Bounded[int, bool]()

    def join(self, chats: Iterable[ChatKey]) -> None:
        """Note that the bot was addressed in these chats, so that it joins the threads among them."""
        for chat in chats:
            if chat.thread_id:
                self._joined[int(chat.thread_id)] = True

    def guild(self, guild_id: str | None) -> discord.Guild | None:
        return self._client.get_guild(int(guild_id)) if guild_id else None

    def find(self, channel_id: int, guild_id: int | None, kind: int | None = None) -> Place | None:
        """The place of a message; None if Discord has to be asked. `kind` is the channel type if the event has it."""
        if guild_id is None:
            return Place(ChatKey(PLATFORM, str(channel_id)), None, private=True)
        guild = self._client.get_guild(guild_id)
        channel = None if guild is None else guild.get_channel_or_thread(channel_id)
        if isinstance(channel, discord.Thread):
            own = channel.me is not None or channel.owner_id == self._client.application_id
            return self._thread(channel_id, channel.parent_id, guild, own)
        if channel is not None:
            return self._plain(channel_id, channel.type.value, guild)
        if (fetched := self._fetched.get(channel_id)) is not None:
            known_kind, parent_id = fetched
            if known_kind in _THREAD_KINDS:
                return self._thread(channel_id, parent_id, guild, False)
            return self._plain(channel_id, known_kind, guild)
        return self._plain(channel_id, kind, guild) if kind is not None and kind not in _THREAD_KINDS else None

    @property
    def shards(self) -> int:
        """The number of gateway connections."""
        return self._client.shard_count or 1

    def shard(self, guild_id: int | None) -> int:
        """The connection for a guild's events; direct messages use the first."""
        return 0 if guild_id is None else (guild_id >> 22) % self.shards

    def shard_of(self, channel_id: int) -> int | None:
        """The connection for a channel's events; None if the gateway has not listed the channel."""
        guild = getattr(self._client.get_channel(channel_id), "guild", None)
        return None if guild is None else self.shard(guild.id)

    def readable(self, channel_id: int) -> bool:
        """Whether the bot may read the history of this server channel."""
        channel = self._client.get_channel(channel_id)
        if not isinstance(channel, _WRITTEN_IN) or channel.guild.me is None:
            return False
        may = channel.permissions_for(channel.guild.me)
        return may.view_channel and may.read_message_history

    async def locate(self, channel_id: int) -> Place:
        """The place of a channel, from its id alone. Raises like `fetch`."""
        channel = self._client.get_channel(channel_id)
        guild = getattr(channel, "guild", None)
        place = self.find(channel_id, guild.id) if guild is not None else None
        return place or await self.fetch(channel_id)

    async def fetch(self, channel_id: int) -> Place:
        """Ask Discord. Raises what its HTTP client raises."""
        channel: Json = dict(await self._client.http.get_channel(channel_id))
        if channel.get("member") is not None or channel.get("owner_id") == str(self._client.application_id):
            self._joined[channel_id] = True
        self._fetched[channel_id] = (int(channel["type"]), int(channel.get("parent_id") or 0))
        place = self.find(channel_id, int(channel["guild_id"]) if channel.get("guild_id") else None)
        assert place is not None
        return place

    def starts_thread(self, payload: Json, place: Place, message: InboundMessage) -> bool:
        """Whether this message gets its own thread: the owner wants threads, and it is neither a command nor a
        reply."""
        plain = message.kind == "message" and not message.text.startswith("/") and payload.get("type") == _PLAIN
        return self._thread_per_mention and plain and place.starts_threads and not message.chat.thread_id

    async def open_thread(self, message: InboundMessage) -> InboundMessage:
        """Open a thread, which has the id of its message, and move the message there. On failure it stays in its
        channel."""
        chat = replace(message.chat, thread_id=message.message_id)
        name = (
            " ".join(message.text.split())[:MAX_THREAD_NAME_CHARACTERS]
            or message.user_name[:MAX_THREAD_NAME_CHARACTERS]
            or "…"
        )
        try:
            await self._client.http.start_thread_with_message(
                int(message.chat.chat_id), int(message.message_id), name=name, auto_archive_duration=_IDLE_MINUTES
            )
        except (*NETWORK, discord.DiscordException) as error:
            if not (isinstance(error, discord.HTTPException) and error.code == _THREAD_EXISTS):
                self._warn_once(message.chat.chat_id, error)
                return message
        self.join([chat])
        return replace(message, chat=chat)

    def _warn_once(self, channel_id: str, error: BaseException) -> None:
        if self._warned.get(channel_id) is None:
            self._warned[channel_id] = True
            log.warning(
                "Discord: can't create a thread in channel %s (%s); answering in the channel", channel_id, error
            )

    def _thread(self, channel_id: int, parent_id: int, guild: discord.Guild | None, own: bool) -> Place:
        joined = own or self._joined.get(channel_id) is not None
        return Place(ChatKey(PLATFORM, str(parent_id), str(channel_id)), guild, private=False, joined=joined)

    def _plain(self, channel_id: int, kind: int, guild: discord.Guild | None) -> Place:
        chat = ChatKey(PLATFORM, str(channel_id))
        return Place(chat, guild, private=False, starts_threads=kind in _STARTS_THREADS)

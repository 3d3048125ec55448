"""The Discord platform: connects, receives by the gateway, sends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence

import discord

from bot.adapters.discord import files
from bot.adapters.discord.alarm import Alarm, Tell
from bot.adapters.discord.catchup import KNOWN_SECONDS, CatchUp
from bot.adapters.discord.client import Json, make_client
from bot.adapters.discord.connection import Connection
from bot.adapters.discord.guilds import Guilds
from bot.adapters.discord.inbound import Me
from bot.adapters.discord.interactions import Interactions, Unanswered
from bot.adapters.discord.live import DiscordLive
from bot.adapters.discord.marks import shard_of
from bot.adapters.discord.options import DiscordOptions
from bot.adapters.discord.origin import Origin
from bot.adapters.discord.outbound import Outbound
from bot.adapters.discord.places import PLATFORM, Places
from bot.adapters.discord.receiving import Receiver
from bot.adapters.discord.stage import Stage, body
from bot.adapters.discord.sync import sync
from bot.adapters.discord.threads import Threads
from bot.adapters.discord.tree import tree
from bot.adapters.discord.trouble import Trouble
from bot.platform import Accept, KeepPlaceholder, Progress, Sent
from handlers.asking import CommandSpec
from handlers.patience import patiently
from handlers.suggestions import Suggestions
from routing.ports import Clock, LiveReply
from routing.stores import KnownChats, StateStore
from routing.types import Attachment, InboundMessage, OutboundMessage

log = logging.getLogger(__name__)
_GRACE = 1.0  # seconds that close() leaves to what is on its way
_EYES = "👀"
_SILENT = 1 << 12  # a message that notifies nobody


class DiscordPlatform:
    """See bot.platform.Platform, and `events.Listener` for what the gateway brings."""

    name = PLATFORM

    def __init__(
        self,
        options: DiscordOptions,
        *,
        accept: Accept,
        state: StateStore,
        chats: KnownChats,
        specs: Sequence[CommandSpec],
        suggestions: Suggestions,
        unanswered: Unanswered,
        tell: Tell,
        clock: Clock,
        steady: Clock | None = None,
    ) -> None:
        self.progress = Progress()
        self._state = state
        self._specs = specs
        self._clock = clock
        self._steady = steady or clock
        self._client = client = make_client(options, self)
        self._stage = Stage(client, options.pace, self._steady)
        self._outbound = Outbound(self._stage)
        self._accept = accept
        self._interactions = Interactions(self._stage, accept, specs, suggestions, unanswered)
        self._alarm = Alarm(tell, state)
        self._guilds = Guilds(client, state, tell, self._alarm, options.thread_per_mention)
        self._chats = chats
        for listener in (self.on_ready, self.on_guild_join):
            client.event(listener)
        trouble = Trouble(self.progress, options.pace, self._alert)
        self._connection = Connection(client, options, self.progress, trouble, self._steady)
        places = Places(client)
        threads = Threads(client, places, options.thread_per_mention)
        catchup = CatchUp(client, places, chats, state, clock, self._me, options.pace.backoff)
        self._receiver = Receiver(
            self._me, self._take, places, threads, catchup, self.progress, trouble, clock, self._steady
        )
        self._settled = False
        self._stopping = False

    async def start(self) -> None:
        """Connect; returns once the first event may come, or when that takes longer, while connecting goes on."""
        self.progress.up_since = self._steady()
        await self._connection.start()

    async def stop_receiving(self) -> None:
        """Interactions are left to fail at once. Messages, which nobody else would keep, go on being accepted until
        the end: they are for the next start."""
        self._stopping = True

    async def close(self) -> None:
        self._stopping = True
        await self._connection.stop()
        await self._interactions.close()
        await self._receiver.stop(_GRACE)
        await self._stage.background.close(_GRACE)
        await self._client.leave()

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        return self._outbound.send(message, outbox_id, first_piece, recovered)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        return DiscordLive(self._stage, message, placeholder, streaming, keep)

    async def waiting(self, message: InboundMessage) -> None:
        if Origin.unpack(message.message_id) is None:
            await self._stage.courtesy(self._mark(message))

    async def fetch(self, attachment: Attachment) -> bytes:
        return await files.fetch(self._client, attachment)

    @property
    def reconnects(self) -> int:
        """How often the watchdog replaced a dead gateway connection."""
        return self._connection.renewals

    # --- what the gateway brings --------------------------------------------------------------------------------

    def began(self, payload: Json) -> None:
        self._connection.alive(shard_of(payload))
        self._receiver.began(payload)
        if not self._settled:
            self._settled = True
            user = self._client.user
            log.info("Discord: %s, by the gateway", user.name if user is not None else "?")
            self._stage.background.spawn(self._register())

    def resumed(self, payload: Json) -> None:
        self._connection.alive(shard_of(payload))
        self._receiver.resumed(payload)

    def lost(self, shard: int) -> None:
        self._connection.lost(shard)
        self._receiver.lost(shard)

    def arrived(self, payload: Json) -> None:
        self._receiver.arrived(payload)

    def message(self, payload: Json) -> None:
        self.progress.last_contact = self._steady()
        self._receiver.message(payload)

    def edited(self, payload: Json) -> None:
        self._receiver.edited(payload)

    def interaction(self, payload: Json) -> None:
        if not self._stopping:
            self.progress.last_contact = self.progress.last_update = self._steady()
            self._stage.background.spawn(self._interactions.take(payload))

    def reacted(self, payload: Json, gone: bool) -> None:
        self._receiver.reacted(payload, gone)

    def removed(self, guild: str) -> None:
        self._stage.background.spawn(self._guilds.compare(left=guild))

    async def on_ready(self) -> None:
        """The client knows its servers and their channels."""
        if not self._stopping:
            self._stage.background.spawn(self._look_around())

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """One more server."""
        if not self._stopping:
            self._stage.background.spawn(self._guilds.compare())

    async def _look_around(self) -> None:
        await self._guilds.compare()
        known = await patiently(self._chats.known, PLATFORM, self._clock() - KNOWN_SECONDS)
        await self._guilds.look(chat for chat in known if not (chat.person or chat.visitor))

    async def _take(self, messages: Sequence[InboundMessage]) -> None:
        """Accept what was written, and look at what the bot may do there."""
        await self._accept(messages)
        self._stage.background.spawn(self._guilds.look([message.chat for message in messages if not message.private]))

    async def _mark(self, message: InboundMessage) -> None:
        """By a reaction or, where the bot may not react, by a note that notifies nobody."""
        begun = message.chat.thread_id == message.message_id  # the message that a thread began with is above it
        channel_id = message.chat.chat_id if begun else message.chat.topic or message.chat.chat_id
        try:
            await self._client.http.add_reaction(int(channel_id), int(message.message_id), _EYES)
        except discord.Forbidden:
            answers = {"message_id": message.message_id, "fail_if_not_exists": False}
            await self._stage.send(channel_id, body(_EYES, flags=_SILENT) | {"message_reference": answers})

    def _alert(self, template: str, /, **values: object) -> None:
        self._stage.background.spawn(self._alarm.sound(template, **values))

    async def _register(self) -> None:
        application_id = self._client.application_id
        if application_id is not None:
            await sync(self._client.http, application_id, tree(self._specs), self._state)

    def _me(self) -> Me:
        user = self._client.user
        assert isinstance(user, discord.ClientUser), "nothing comes before the login"
        return Me(user.id, user.name, self._client.content)

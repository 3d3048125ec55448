"""The Discord platform: connects, receives from the gateway, sends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from functools import partial

import discord

from bot.adapters.discord import commands, files
from bot.adapters.discord.backfill import Backfill, shard_of
from bot.adapters.discord.channels import PLATFORM, Channels
from bot.adapters.discord.client import Json, make_client
from bot.adapters.discord.connection import Connection, DiscordBackoff
from bot.adapters.discord.context import ClientContext, InteractionRef, body
from bot.adapters.discord.failures import CALL_ERRORS, reason
from bot.adapters.discord.guilds import Guilds, OwnerAlerts
from bot.adapters.discord.interactions import Interactions
from bot.adapters.discord.live import DiscordLive
from bot.adapters.discord.messages import BotIdentity
from bot.adapters.discord.outbound import Outbound
from bot.adapters.discord.parts import MAX_FILE_BYTES
from bot.adapters.discord.receiving import Receiver
from bot.adapters.discord.settings import DiscordSettings, Pace
from bot.adapters.shared.descriptor import Services
from bot.adapters.shared.registration import register_if_changed
from bot.platform import KeepPlaceholder, Progress, Sent
from handlers.storage_retry import retry_storage
from routing.ports import LiveReply
from routing.types.messages import Attachment, InboundMessage, OutboundMessage

log = logging.getLogger(__name__)
_GRACE = 1.0  # seconds that close() leaves to what is on its way
_SEEN_EMOJI = "👀"
_SILENT = 1 << 12  # a message without a notification


class DiscordPlatform:
    """See bot.platform.Platform."""

    name = PLATFORM
    max_file_bytes = MAX_FILE_BYTES

    def __init__(self, settings: DiscordSettings, services: Services, pace: Pace) -> None:
        settings.check_discord()
        self.progress = Progress()
        self._services = services
        self._steady = services.steady
        self._client = client = make_client(settings, pace)
        self._context = ClientContext(client, pace, self._steady, may_show=services.may_show)
        self._outbound = Outbound(self._context)
        self._interactions = Interactions(self._context, services.accept, services.commands, services.unanswered)
        self._alerts = OwnerAlerts(services.tell, services.state)
        self._guilds = Guilds(client, services.state, services.tell, self._alerts, settings.discord_threads)
        for listener in (self.on_ready, self.on_guild_join, self.on_guild_remove):
            client.event(listener)
        backoff = DiscordBackoff(self.progress, pace, self._alert)
        self._connection = Connection(client, settings, pace, self.progress, backoff, self._steady)
        channels = Channels(client, settings.discord_threads)
        self._backfill = Backfill(client, channels, services, self._me, pace.backoff)
        self._receiver = Receiver(self._me, self._take, channels, self._backfill, backoff, services.clock, self._steady)
        client.listen(
            {
                "READY": self.session_started,
                "RESUMED": self.session_resumed,
                "GUILD_CREATE": self._receiver.guild_created,
                "MESSAGE_CREATE": self._message_created,
                "MESSAGE_UPDATE": self._receiver.message_edited,
                "INTERACTION_CREATE": self._interaction_created,
                "MESSAGE_REACTION_ADD": partial(self._receiver.reaction_changed, removed=False),
                "MESSAGE_REACTION_REMOVE": partial(self._receiver.reaction_changed, removed=True),
            },
            self.disconnected,
        )
        self._registered = False
        self._stopping = False

    async def start(self) -> None:
        """Return once events can come, or after a few seconds while connecting goes on."""
        self.progress.up_since = self._steady()
        await self._connection.start()

    async def stop_receiving(self) -> None:
        """Interactions fail at once from now on. Messages are accepted until `close`, for the next start: Discord
        would not keep them."""
        self._stopping = True

    async def close(self) -> None:
        self._stopping = True
        await self._connection.stop()
        await self._interactions.close()
        await self._receiver.stop(_GRACE)
        await self._context.background.close(_GRACE)
        await self._client.leave()

    def send(self, message: OutboundMessage, outbox_id: int, first_piece: int, recovered: bool) -> AsyncIterator[Sent]:
        return self._outbound.send(message, outbox_id, first_piece, recovered)

    def live(self, message: InboundMessage, placeholder: str, streaming: bool, keep: KeepPlaceholder) -> LiveReply:
        return DiscordLive(self._context, message, placeholder, streaming, keep)

    async def waiting(self, message: InboundMessage) -> None:
        if InteractionRef.unpack(message.message_id) is None:
            await self._context.best_effort(self._react(message))

    async def fetch(self, attachment: Attachment) -> bytes:
        return await files.fetch(self._client, attachment)

    def session_started(self, payload: Json) -> None:
        """READY: events may have been missed."""
        self._connection.connected(shard_of(payload))
        self._receiver.session_started(payload)
        if not self._registered:
            self._registered = True
            user = self._client.user
            log.info("Discord: %s, by the gateway", user.name if user is not None else "?")
            self._context.background.spawn(self._register())

    def session_resumed(self, payload: Json) -> None:
        """RESUMED: no events were missed."""
        self._connection.connected(shard_of(payload))
        self._receiver.session_resumed(payload)

    def disconnected(self, shard: int) -> None:
        self._connection.disconnected(shard)
        self._receiver.disconnected(shard)

    def _message_created(self, payload: Json) -> None:
        self._receiver.message_created(payload)

    def _interaction_created(self, payload: Json) -> None:
        if not self._stopping:
            self.progress.last_update = self._steady()
            self._context.background.spawn(self._interactions.take(payload))

    async def on_ready(self) -> None:
        """The client knows its servers and their channels."""
        if not self._stopping:
            self._context.background.spawn(self._check_guilds())

    async def on_guild_join(self, guild: discord.Guild) -> None:
        """The bot was added to a server."""
        if not self._stopping:
            self._context.background.spawn(self._guilds.compare())

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was removed from a server."""
        self._context.background.spawn(self._guilds.compare(left=guild.name))

    async def _check_guilds(self) -> None:
        await self._guilds.compare()
        await self._guilds.check_permissions(await retry_storage(self._backfill.known))

    async def _take(self, messages: Sequence[InboundMessage]) -> None:
        """Accept messages, and check what the bot may do in their channels."""
        await self._services.accept(messages)
        self.progress.last_update = self._steady()
        chats = [message.chat for message in messages if not message.private]
        self._context.background.spawn(self._guilds.check_permissions(chats))

    async def _react(self, message: InboundMessage) -> None:
        """With an emoji or, if the bot may not react, with a message without notifications."""
        started = message.chat.thread_id == message.message_id  # the message that started a thread is in its parent
        channel_id = message.chat.chat_id if started else message.chat.topic or message.chat.chat_id
        try:
            await self._client.http.add_reaction(int(channel_id), int(message.message_id), _SEEN_EMOJI)
        except discord.Forbidden:
            answers = {"message_id": message.message_id, "fail_if_not_exists": False}
            await self._context.send(channel_id, body(_SEEN_EMOJI, flags=_SILENT) | {"message_reference": answers})

    def _alert(self, template: str, /, **values: object) -> None:
        self._context.background.spawn(self._alerts.connection(template, **values))

    async def _register(self) -> None:
        application_id = self._client.application_id
        assert application_id is not None, "known since the login"
        tree = commands.tree((await self._services.commands()).specs)
        try:
            if await register_if_changed(
                self._services.state,
                commands.STATE_KEY,
                [application_id, tree],
                lambda: self._client.http.bulk_upsert_global_commands(application_id, tree),
            ):
                log.info("Discord: %d commands registered", len(tree))
        except CALL_ERRORS as error:
            log.warning("Discord: the commands could not be registered (%s); the next start tries again", reason(error))

    def _me(self) -> BotIdentity:
        user = self._client.user
        assert isinstance(user, discord.ClientUser), "events come after the login"
        return BotIdentity(user.id, user.name, self._client.content)

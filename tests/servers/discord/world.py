"""The state behind the API: people, messages, and the bot's permissions."""

from collections.abc import Callable

from tests.servers.discord.errors import ApiError, missing_access, missing_permissions, unknown
from tests.servers.discord.events import Events
from tests.servers.discord.journal import Interaction, Request, Typing, Violation
from tests.servers.discord.message import Message, Pings, Version
from tests.servers.discord.timeline import Timeline
from tests.servers.discord.values import (
    DM,
    EPHEMERAL,
    Attachment,
    Channel,
    Guild,
    Json,
    User,
)
from tests.servers.uploads import Upload

ALICE = User(1001, "Alice")
"""The default speaker of tests; she owns the application."""
NONCE_LIFE = 120.0
"""Seconds for which a nonce is enforced. Discord says "the past few minutes", so at least two."""


class World(Timeline):
    """The server's state."""

    def __init__(self, bot: User, clock: Callable[[], float], privileged: set[str]) -> None:
        super().__init__(clock)
        self.bot = bot
        self.application_id = bot.id
        self.privileged = privileged
        self.address = ""
        """Where the server listens, with http:// and without a path."""
        self.users: dict[int, User] = {bot.id: bot}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.files: dict[str, Attachment] = {}
        self.commands: list[Json] = []
        self.guild_commands: dict[int, list[Json]] = {}
        self.interactions: list[Interaction] = []
        self.typing: list[Typing] = []
        self.requests: list[Request] = []
        self.violations: list[Violation] = []
        self.events = Events(self)
        self.owner = ALICE
        """The owner of the application."""
        self.shards = 1
        """What GET /gateway/bot recommends."""
        self.response_limit = 60.0
        self._nonces: dict[str, Message] = {}
        self._dms: dict[int, Channel] = {}

    # --- channels, as the bot's calls see them ----------------------------------------------------------------

    def known_channel(self, channel_id: int) -> Channel:
        """The channel that a call names; refused if it doesn't exist or the bot is not a member."""
        channel = self.channels.get(channel_id)
        if channel is None or channel.deleted:
            raise unknown(10003, "Channel")
        if not self.sees(channel):
            raise missing_access()
        return channel

    def open_channel(self, channel_id: int, *permissions: str) -> Channel:
        """The same for a call that acts there; refused if the bot lacks a permission."""
        channel = self.known_channel(channel_id)
        if any(channel.lacks(permission) for permission in permissions):
            raise missing_permissions()
        if channel.closed:
            raise ApiError(403, 50007, "Cannot send messages to this user")
        return channel

    def sees(self, channel: Channel) -> bool:
        if channel.guild is not None:
            return channel.guild.has_bot and not channel.lacks("view_channel")
        return channel.has_bot

    def known_message(self, channel: Channel, message_id: int) -> Message:
        message = channel.by_id.get(message_id)
        if message is None or message.deleted or message.ephemeral:
            raise unknown(10008, "Message")
        return message

    def dm_with(self, user: User) -> Channel:
        """The bot's DM with a person, created on first use."""
        if user.id not in self._dms:
            self._dms[user.id] = self.add_channel(Channel(self.snowflake(), DM, recipients=[user]))
        return self._dms[user.id]

    def add_channel(self, channel: Channel) -> Channel:
        channel.created = self.now()
        self.channels[channel.id] = channel
        if channel.guild is not None:
            channel.guild.channels[channel.id] = channel
        self.changed()
        return channel

    def open_thread(self, parent: Channel, name: str, owner: User, kind: int, starter: Message | None) -> Channel:
        """Opens a thread; the bot gets the event."""
        new_id = starter.id if starter is not None else self.snowflake()
        made = Channel(new_id, kind, name, guild=parent.guild, parent=parent, starter=starter, owner=owner)
        self.add_channel(made)
        if starter is not None:
            starter.thread = made
        self.events.thread("THREAD_CREATE", made)
        return made

    def known_guild(self, guild_id: int) -> Guild:
        guild = self.guilds.get(guild_id)
        if guild is None or not guild.has_bot:
            raise unknown(10004, "Guild")
        return guild

    # --- messages ---------------------------------------------------------------------------------------------

    def add_message(
        self,
        channel: Channel,
        author: User,
        version: Version,
        *,
        kind: int = 0,
        flags: int = 0,
        nonce: str | int | None = None,
        reply_to: Message | None = None,
        interaction: Interaction | None = None,
    ) -> Message:
        """Appends to the channel's log; the bot gets the event."""
        message = Message(
            channel=channel,
            id=self.snowflake(),
            author=author,
            at=self.now(),
            versions=[version],
            kind=kind or (19 if reply_to is not None else 0),
            flags=flags,
            nonce=nonce,
            reply_to=reply_to,
            interaction=interaction,
        )
        channel.messages.append(message)
        channel.by_id[message.id] = message
        if channel.archived and not flags & EPHEMERAL:
            channel.archived = False
            self.events.thread("THREAD_UPDATE", channel)
        self.changed()
        return message

    def version(
        self,
        text: str,
        *,
        embeds: list[Json] | None = None,
        components: list[Json] | None = None,
        attachments: list[Attachment] | None = None,
        pings: Pings | None = None,
    ) -> Version:
        return Version(text, embeds or [], components or [], attachments or [], pings or Pings(), self.now())

    def with_nonce(self, nonce: str | int | None) -> Message | None:
        """The bot's message with that nonce, if it is still protected."""
        known = self._nonces.get(str(nonce)) if nonce is not None else None
        return known if known is not None and self.now() - known.at <= NONCE_LIFE else None

    def remember_nonce(self, message: Message) -> None:
        if message.nonce is not None:
            self._nonces[str(message.nonce)] = message

    def store(self, channel: Channel, upload: Upload, description: str | None = None) -> Attachment:
        """Keeps the bytes under an address that needs no token, as Discord's CDN does."""
        number = self.snowflake()
        path = f"/attachments/{channel.id}/{number}/{upload.name}"
        stored = Attachment(number, upload.name, upload.data, upload.mime, self.address + path, description)
        self.files[path] = stored
        return stored

    def violate(self, call: str, description: str, body: object = None) -> None:
        self.violations.append(Violation(call, description, body))
        self.changed()
